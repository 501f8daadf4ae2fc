"""`newel doctor`: checks the distribution and plugins of this folder, and the SDKs, keys and connections of models."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from urllib.parse import urlsplit

import click

from newel.cli import key_store
from newel.cli.exit import run_loop
from newel.cli.startup import startup_of
from newel.cli.terminal import say, show_json, to_terminal
from newel.models.catalogue import ending
from newel.models.kinds import default_model
from newel.version import VERSION
from newel_compose import Composition
from newel_kernel import API, Json, NewelError

#: The extras of newel that hold SDKs of models, and the package that stands for each.
_SDKS = {"anthropic": "anthropic", "openai": "openai", "gemini": "google-genai", "litellm": "litellm"}
_KEYS = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "OPENAI_API_KEY",
    "GOOGLE_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_CLOUD_PROJECT",
    "OPENROUTER_API_KEY",
)
_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")
_SERVICES = {
    "anthropic": ("ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
    "openai": ("OPENAI_BASE_URL", "https://api.openai.com/v1"),
    "gemini": ("GOOGLE_GEMINI_BASE_URL", "https://generativelanguage.googleapis.com"),
}
_PATIENCE = 5.0
_RELEASE = re.compile(r"\d+(?:\.\d+)*")
_CONDITION = re.compile(r"(<=|>=|==|!=|~=|<|>)\s*(\d+(?:\.\d+)*)")


@click.command("doctor")
@click.option("--reach", is_flag=True, help="Open a connection to each service, too.")
@click.pass_context
def doctor(ctx: click.Context, reach: bool) -> None:
    """Look at the folder's distribution, plugins, SDKs, keys and proxies. Ends with status 1 if something is wrong."""
    startup = startup_of(ctx)
    records = startup.composition.plugins if startup.composition is not None else ()
    facts: Json = {
        "newel": {"version": VERSION, "api": API},
        "distribution": startup.composition.distribution.name if startup.composition is not None else None,
        "sdks": list(_sdks()),
        "keys": {name: _where(name) for name in _KEYS},
        "proxies": {name: _without_password(value) for name in _PROXIES if (value := _variable(name))},
        "offline": os.environ.get("NEWEL_OFFLINE", ""),
    }
    if reach:
        facts["services"] = run_loop(_reachability())
    problems = str(startup.error).splitlines() if startup.error is not None else []
    problems += [
        f"the plugin {one.name!r} ({one.source}) is {one.state}: {one.why}"
        for one in records
        if one.state in ("failed", "left out")
    ]
    problems += [wrong] if (wrong := key_store.problem()) else []
    problems += [one["problem"] for one in facts["sdks"] if one["problem"]]
    problems += [f"{name}: {words}" for name, words in facts.get("services", {}).items() if words != "reached"]
    if startup.composition is not None and (told := ending(_default_model(startup.composition))):
        problems.append(told)
    facts["problems"] = problems
    facts["deprecated"] = [f"the plugin {one.name!r} ({one.source}) {use}" for one in records for use in one.deprecated]
    if to_terminal():
        _print_facts(facts)
    else:
        show_json(facts)
    ctx.exit(1 if problems else 0)


def _default_model(composition: Composition) -> str:
    """The model of agents that name none; an empty text if there is none."""
    try:
        return default_model(composition)
    except NewelError:
        return ""


def _print_facts(facts: Json) -> None:
    say(f"newel: {facts['newel']['version']} (API {facts['newel']['api']})")
    say(f"distribution: {facts['distribution'] or 'it cannot be composed'}")
    for sdk in facts["sdks"]:
        say(f"{sdk['package']}: {sdk['version'] or 'not installed'} (newel[{sdk['extra']}] needs {sdk['wanted']})")
    for name, where in facts["keys"].items():
        say(f"{name}: {where or 'not set'}")
    for name, value in {**facts["proxies"], **facts.get("services", {})}.items():
        say(f"{name}: {value}")
    for use in facts["deprecated"]:
        say(f"deprecated: {use}", fg="yellow")
    for problem in facts["problems"]:
        say(f"problem: {problem}", fg="red")


def _sdks() -> Iterator[Json]:
    """Each SDK with its version, the version that newel wants, and what is wrong with it."""
    requirements = _requirements("newel")
    for extra, package in _SDKS.items():
        installed = _version(package)
        condition = requirements.get(package, "")
        problem = ""
        if installed and not _fits(installed, condition):
            problem = f"{package} {installed} does not fit: pip install '{package}{condition}'"
        elif installed:
            problem = "; ".join(_conflicts(package))
        yield {"extra": extra, "package": package, "version": installed, "wanted": condition, "problem": problem}


def _conflicts(package: str) -> Iterator[str]:
    """The requirements of a package that the installed packages do not meet."""
    for name, condition in _requirements(package, extras=False).items():
        installed = _version(name)
        if installed and not _fits(installed, condition):
            yield f"{package} needs {name}{condition}, but {installed} is installed"


def _requirements(package: str, *, extras: bool = True) -> dict[str, str]:
    """The requirements of a package: name -> condition. Requirements for other environments are left out."""
    result: dict[str, str] = {}
    for line in requires(package) or ():
        requirement, _, marker = line.partition(";")
        if ("extra" in marker and not extras) or "python_version" in marker or "platform" in marker:
            continue
        match = re.match(r"\s*([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*\(?([^)]*)\)?", requirement)
        if match and match[2]:
            result.setdefault(match[1], match[2].strip())
    return result


def _fits(installed: str, condition: str) -> bool:
    """Whether a release fits; only numbers are compared, as SDKs use nothing else."""
    have = _numbers(installed)
    return all(_holds(have, operator, _numbers(release)) for operator, release in _CONDITION.findall(condition))


def _holds(have: tuple[int, ...], operator: str, bound: tuple[int, ...]) -> bool:
    width = max(len(have), len(bound))
    left, right = (one + (0,) * (width - len(one)) for one in (have, bound))
    if operator == "~=":
        return left >= right and have[: len(bound) - 1] == bound[:-1]
    outcomes = {"<=": left <= right, ">=": left >= right, "==": left == right, "!=": left != right}
    return outcomes.get(operator, left < right if operator == "<" else left > right)


def _numbers(release: str) -> tuple[int, ...]:
    match = _RELEASE.match(release)
    return tuple(map(int, match[0].split("."))) if match else ()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _where(name: str) -> str | None:
    """The place of a key; never the key itself."""
    if os.environ.get(name, "").strip():
        return "environment"
    return None if key_store.problem() else key_store.names().get(name)


def _variable(name: str) -> str | None:
    return os.environ.get(name) or os.environ.get(name.lower())


def _without_password(value: str) -> str:
    """A proxy without its password."""
    return re.sub(r"//[^/@]*@", "//[credentials]@", value)


async def _reachability() -> dict[str, str]:
    names = list(_SERVICES)
    outcomes = await asyncio.gather(*(_reach(*_SERVICES[name]) for name in names))
    return dict(zip(names, outcomes, strict=True))


async def _reach(variable: str, usual: str) -> str:
    url = urlsplit(os.environ.get(variable) or usual)
    port = url.port or (443 if url.scheme == "https" else 80)
    try:
        async with asyncio.timeout(_PATIENCE):
            _, writer = await asyncio.open_connection(url.hostname, port, ssl=url.scheme == "https" or None)
    except (OSError, TimeoutError) as error:
        return f"{url.hostname}:{port} cannot be reached ({type(error).__name__})"
    writer.close()
    return "reached"
