"""The plugin of the built-in commands; their modules load when a command is used."""

from __future__ import annotations

from newel.cli import kinds
from newel.cli.kinds import Command
from newel_kernel import Descriptor, Kind, hookimpl
from newel_types import deferred

COMMANDS = [
    Command(
        name="api_server",
        load=deferred("newel.cli.api_server", "api_server"),
        help="Serve agents over HTTP.",
    ),
    Command(
        name="artifacts",
        load=deferred("newel.cli.artifacts", "artifacts"),
        help="List stored artifacts and remove unused ones.",
    ),
    Command(
        name="budgets",
        load=deferred("newel.cli.budgets", "budgets"),
        help="Show what is spent on models, and raise limits.",
    ),
    Command(
        name="cache",
        load=deferred("newel.cli.cache", "cache"),
        help="Show what a session read from the providers' caches.",
    ),
    Command(
        name="chain",
        load=deferred("newel.cli.chain", "chain"),
        help="Show the processors that an agent's requests pass.",
    ),
    Command(name="chat", load=deferred("newel.cli.chat", "chat"), help="Talk to an agent."),
    Command(
        name="completion",
        load=deferred("newel.cli.completion", "completion"),
        help="Print a shell's completion script.",
    ),
    Command(
        name="eval",
        load=deferred("newel.cli.evaluation.group", "evaluation"),
        help="Evaluate an agent and compare runs.",
    ),
    Command(
        name="eval_set", load=deferred("newel.cli.evaluation.eval_set", "eval_set"), help="Create and fill eval sets."
    ),
    Command(
        name="doctor", load=deferred("newel.cli.doctor", "doctor"), help="Check the SDKs, keys and proxies of models."
    ),
    Command(
        name="explain",
        load=deferred("newel.cli.explain", "explain"),
        help="Show what each step makes of a model request.",
    ),
    Command(name="graph", load=deferred("newel.cli.graph", "graph"), help="Draw what an agent is made of."),
    Command(
        name="keys", load=deferred("newel.cli.keys", "keys"), help="Keep API keys where only their user reads them."
    ),
    Command(name="lock", load=deferred("newel.cli.lock", "lock"), help="Lock the plugins to their current versions."),
    Command(name="mcp", load=deferred("newel.cli.mcp.group", "mcp"), help="Look at MCP servers, or serve one."),
    Command(
        name="models",
        load=deferred("newel.cli.models", "models"),
        help="List the models' providers, or what a model can do.",
    ),
    Command(name="new", load=deferred("newel.cli.new", "new"), help="Create an agent, a plugin or a distribution."),
    Command(
        name="optimize",
        load=deferred("newel.cli.evaluation.optimize", "optimize"),
        help="Search for a better instruction.",
    ),
    Command(
        name="plugins",
        load=deferred("newel.cli.plugins", "plugins"),
        help="List the plugins, and why each is in or out.",
    ),
    Command(name="run", load=deferred("newel.cli.run", "run"), help="Send an agent one message and print its answer."),
    Command(
        name="runs",
        load=deferred("newel.cli.runs", "runs"),
        help="Show, cancel, retry and answer submitted runs.",
    ),
    Command(
        name="schema", load=deferred("newel.cli.schema", "schema"), help="Print the JSON schema of agent and app files."
    ),
    Command(
        name="sessions", load=deferred("newel.cli.sessions", "sessions"), help="Show and maintain stored sessions."
    ),
    Command(
        name="submit", load=deferred("newel.cli.submit", "submit"), help="Hand a run to an engine, for its workers."
    ),
    Command(name="talk", load=deferred("newel.cli.talk", "talk"), help="Talk to an agent over a live connection."),
    Command(
        name="web",
        load=deferred("newel.cli.api_server", "web"),
        help="Serve agents over HTTP, with a web UI.",
    ),
    Command(
        name="worker",
        load=deferred("newel.cli.worker", "worker"),
        help="Run what is submitted to an engine.",
    ),
]


@hookimpl
def register_kinds() -> list[Kind[Descriptor]]:
    """The commands."""
    return [Kind(kinds.Command, kinds.register_commands)]


@hookimpl
def register_commands() -> list[Command]:
    """The commands of newel."""
    return COMMANDS
