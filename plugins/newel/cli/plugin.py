"""The plugin of the built-in commands; their modules load when a command is used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from newel.cli import kinds
from newel.cli.kinds import Command
from newel_kernel import Descriptor, Kind, hookimpl


def _from(module: str, attribute: str) -> Callable[[], object]:
    return lambda: getattr(import_module(f"newel.cli.{module}"), attribute)


COMMANDS = [
    Command(
        name="artifacts", load=_from("artifacts", "artifacts"), help="List stored artifacts and remove unused ones."
    ),
    Command(name="chain", load=_from("chain", "chain"), help="Show the processors that an agent's requests pass."),
    Command(name="chat", load=_from("chat", "chat"), help="Talk to an agent."),
    Command(name="completion", load=_from("completion", "completion"), help="Print a shell's completion script."),
    Command(name="eval", load=_from("evaluation.group", "evaluation"), help="Evaluate an agent and compare runs."),
    Command(name="eval_set", load=_from("evaluation.eval_set", "eval_set"), help="Create and fill eval sets."),
    Command(name="doctor", load=_from("doctor", "doctor"), help="Check the SDKs, keys and proxies of models."),
    Command(name="graph", load=_from("graph", "graph"), help="Draw what an agent is made of."),
    Command(name="keys", load=_from("keys", "keys"), help="Keep API keys where only their user reads them."),
    Command(name="lock", load=_from("lock", "lock"), help="Lock the plugins to their current versions."),
    Command(name="models", load=_from("models", "models"), help="List the models' providers, or what a model can do."),
    Command(name="new", load=_from("new", "new"), help="Create an agent, a plugin or a distribution."),
    Command(name="optimize", load=_from("evaluation.optimize", "optimize"), help="Search for a better instruction."),
    Command(name="plugins", load=_from("plugins", "plugins"), help="List the plugins, and why each is in or out."),
    Command(name="run", load=_from("run", "run"), help="Send an agent one message and print its answer."),
    Command(name="schema", load=_from("schema", "schema"), help="Print the JSON schema of agent and app files."),
    Command(name="sessions", load=_from("sessions", "sessions"), help="Show and maintain stored sessions."),
    Command(name="talk", load=_from("talk", "talk"), help="Talk to an agent over a live connection."),
]


@hookimpl
def register_kinds() -> list[Kind[Descriptor]]:
    """The commands."""
    return [Kind(kinds.Command, kinds.register_commands)]


@hookimpl
def register_commands() -> list[Command]:
    """The commands of newel."""
    return COMMANDS
