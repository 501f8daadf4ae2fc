"""`newel eval_set`: eval sets made and filled."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import click

from newel.cli.evaluation.from_session import from_session
from newel.cli.evaluation.sets import storage_of
from newel.cli.exit import run_loop
from newel.cli.startup import composition_of
from newel.errors.not_found_error import NotFoundError
from newel.evaluation.authoring.generated_cases import generated_scenarios
from newel.evaluation.cases.conversation_scenarios import (
    ConversationGenerationConfig,
    ConversationScenario,
    ConversationScenarios,
)
from newel.evaluation.cases.eval_case import EvalCase, SessionInput
from newel.evaluation.storage.eval_sets_manager import EvalSetsManager
from newel.evaluation.storage.files import read_model, read_text
from newel.evaluation.storage.local_eval_sets_manager import LocalEvalSetsManager
from newel.files.agent_source import load_source
from newel_kernel import seam


@click.group("eval_set")
def eval_set() -> None:
    """Make eval sets, and put cases into them."""


eval_set.add_command(from_session)


def manager_of(agent_dir: str, uri: str | None = None) -> tuple[EvalSetsManager, str]:
    """The sets of an agent's folder, or those that are kept at `uri`; and the app's name."""
    folder = Path(agent_dir).resolve()
    storage = storage_of(uri)
    return storage[0] if storage is not None else LocalEvalSetsManager(folder.parent), folder.name


_storage_option = click.option("--eval_storage_uri", metavar="URI", help="Where sets are kept, if not in files.")


@eval_set.command("create")
@click.argument("agent_dir", type=click.Path(exists=True, file_okay=False))
@click.argument("eval_set_id")
@_storage_option
def create(agent_dir: str, eval_set_id: str, eval_storage_uri: str | None) -> None:
    """Create an empty set in the agent's folder."""
    manager, app = manager_of(agent_dir, eval_storage_uri)
    try:
        manager.create_eval_set(app, eval_set_id)
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"Eval set '{eval_set_id}' created for app '{app}'.")


@eval_set.command("add_eval_case")
@click.argument("agent_dir", type=click.Path(exists=True, file_okay=False))
@click.argument("eval_set_id")
@click.option("--scenarios_file", required=True, type=click.Path(exists=True, dir_okay=False), help="The scenarios.")
@click.option("--session_input_file", type=click.Path(exists=True, dir_okay=False), help="Where they start from.")
@_storage_option
def add_eval_case(
    agent_dir: str, eval_set_id: str, scenarios_file: str, session_input_file: str | None, eval_storage_uri: str | None
) -> None:
    """Add a case for each scenario of a file; cases that exist already are skipped."""
    manager, app = manager_of(agent_dir, eval_storage_uri)
    scenarios = read_model(ConversationScenarios, read_text(scenarios_file), scenarios_file)
    _add(manager, app, eval_set_id, scenarios.scenarios, _session(session_input_file))


@eval_set.command("generate_eval_cases")
@click.argument("agent_dir", type=click.Path(exists=True, file_okay=False))
@click.argument("eval_set_id")
@click.option(
    "--user_simulation_config_file",
    required=True,
    type=click.Path(exists=True, dir_okay=False),
    help="count, model_name, generation_instruction, environment_context.",
)
@_storage_option
@click.pass_context
def generate_eval_cases(
    ctx: click.Context,
    agent_dir: str,
    eval_set_id: str,
    user_simulation_config_file: str,
    eval_storage_uri: str | None,
) -> None:
    """Let a model invent scenarios for the agent, and add a case for each."""
    text = read_text(user_simulation_config_file)
    config = read_model(ConversationGenerationConfig, text, user_simulation_config_file)
    agent = load_source(agent_dir, composition_of(ctx, None)).agent
    manager, app = manager_of(agent_dir, eval_storage_uri)
    _add(manager, app, eval_set_id, run_loop(generated_scenarios(agent, config)), None)


def _add(
    manager: EvalSetsManager,
    app: str,
    eval_set_id: str,
    scenarios: list[ConversationScenario],
    session: SessionInput | None,
) -> None:
    for scenario in scenarios:
        case = EvalCase(
            eval_id=case_id(scenario),
            conversation_scenario=scenario,
            session_input=session,
            creation_timestamp=seam.clock(),
        )
        if manager.get_eval_case(app, eval_set_id, case.eval_id) is not None:
            click.echo(f"Eval case '{case.eval_id}' already exists in eval set '{eval_set_id}', skipped adding.")
            continue
        try:
            manager.add_eval_case(app, eval_set_id, case)
        except NotFoundError as error:
            raise click.ClickException(f"{error}; create it with `newel eval_set create`") from error
        click.echo(f"Eval case '{case.eval_id}' added to eval set '{eval_set_id}'.")


def _session(path: str | None) -> SessionInput | None:
    return read_model(SessionInput, read_text(path), path) if path is not None else None


def case_id(scenario: ConversationScenario) -> str:
    """The same id for the same scenario."""
    text = json.dumps(scenario.model_dump(mode="json", exclude_none=True), sort_keys=True)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:8]
