"""`newel fake-server`: services of models on this machine, to try a provider without a key."""

from __future__ import annotations

import shlex
import threading
from pathlib import Path

import click

from newel.cli.terminal import say
from newel_kernel import ConfigurationError
from newel_testkit.wire.answers import Answer, text
from newel_testkit.wire.environment import VARIABLES, variables
from newel_testkit.wire.http import Logged, Reply
from newel_testkit.wire.reading import Reading
from newel_testkit.wire.script_file import read_script
from newel_testkit.wire.server import WireServer

_KEY = "fake-key"


class _Reporter(WireServer):
    """Prints each request that it answers."""

    def _answer(self, request: Logged) -> Reply:
        reply = super()._answer(request)
        refused = f": {request.refused}" if request.refused else ""
        click.echo(f"{request.method} {request.path} -> {reply.status}{refused}", err=True)
        return reply


@click.command("fake-server")
@click.argument("protocols", nargs=-1, type=click.Choice(list(VARIABLES)))
@click.option("--port", default=0, show_default="a free one", type=click.IntRange(0, 65535), help="Of 127.0.0.1.")
@click.option("--script", type=click.Path(path_type=Path), help="A YAML file of answers; the last one repeats.")
@click.option("--answer", help="The text of each answer.")
def fake_server(protocols: tuple[str, ...], port: int, script: Path | None, answer: str | None) -> None:
    """Serve PROTOCOLS (all of them) on this machine until it is interrupted, and print the variables to set.

    Requests are refused for what the services refuse. Without a script each answer repeats the user's last words.
    """
    if script is not None and answer is not None:
        raise click.UsageError("--script and --answer exclude each other")
    steps = read_script(script) if script is not None else None
    with _started(port) as server:
        server.script(*(steps if steps is not None else [_fixed(answer) if answer is not None else _echo]))
        for name, value in variables(server.base, protocols or tuple(VARIABLES), _KEY).items():
            say(f"export {name}={shlex.quote(value)}")
        threading.Event().wait()


def _started(port: int) -> WireServer:
    server = _Reporter(port=port)
    try:
        return server.start()
    except OSError as error:
        raise ConfigurationError(f"the port {port} cannot be used: {error}; choose another port") from error


def _fixed(words: str) -> Answer:
    return Answer(parts=(text(words),))


def _echo(reading: Reading) -> Answer:
    words = [item.text for item in reading.items if (item.role, item.kind) == ("user", "text")]
    return _fixed(words[-1] if words else "Hello.")
