"""`newel eval run`: cases put to an agent."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import click
from pydantic import ValidationError

from newel.cli.evaluation.output import (
    INTERRUPTED,
    print_details_of,
    print_summary,
    progress,
    say_how_to_resume,
    statuses,
)
from newel.cli.evaluation.sets import Subject, is_foreign, sets_of, storage_of, subject_of
from newel.cli.exit import run_loop
from newel.cli.startup import composition_of
from newel.evaluation.cases.eval_set import EvalSet
from newel.evaluation.metrics.eval_config import EvalConfig, get_evaluation_criteria_or_default
from newel.evaluation.runs.evaluation import EvaluationRun, evaluate
from newel.evaluation.runs.options import Budget, RateLimit, RunOptions
from newel.evaluation.runs.run_file import SUFFIX, RunFileError
from newel.evaluation.runs.units import ERROR, FAILED, SKIPPED, units_of
from newel.evaluation.storage.files import problems_of
from newel_kernel import ConfigurationError, seam

#: The exit statuses for failed cases, or if nothing ran; and for cases that could not be evaluated.
FAILURE, UNEVALUATED = 1, 2


@click.command("run")
@click.argument("agent")
@click.argument("sets", nargs=-1)
@click.option(
    "--config_file_path", "--config", metavar="FILE", help="Criteria; by default test_config.json next to the sets."
)
@click.option("--print_detailed_results", "--details", is_flag=True, help="Print every turn.")
@click.option("--eval_storage_uri", metavar="URI", help="Where sets and results are kept, if not in files.")
@click.option("--log_level", default="WARNING", show_default=True, help="Level of the log on stderr.")
@click.option("--repeat", type=click.IntRange(min=1), default=1, show_default=True, help="How often to run each case.")
@click.option(
    "--parallelism", type=click.IntRange(min=1), default=4, show_default=True, help="How many cases run at once."
)
@click.option("--case", "cases", multiple=True, metavar="GLOB", help="Only cases whose id matches.")
@click.option("--tag", "tags", multiple=True, help="Only cases with this tag.")
@click.option("--case-timeout", type=float, metavar="SECONDS", help="Give up on a case after this time.")
@click.option(
    "--rate-limit", multiple=True, metavar="MODEL=N", help="At most N calls a minute; N,Mtok limits tokens, too."
)
@click.option("--max-cost", type=float, metavar="DOLLARS", help="Stop when this much is spent; the run can be resumed.")
@click.option("--max-tokens", type=int, help="Stop when this many are used; the run can be resumed.")
@click.option("--max-seconds", type=float, help="Stop after this time; the run can be resumed.")
@click.option(
    "--cassette",
    type=click.Choice(["record", "replay", "auto"]),
    help="Record the models' answers in a cassette, or replay them.",
)
@click.option("--cassette-file", metavar="FILE", help="The cassette; by default a file in the agent's folder.")
@click.option("--allow-effects", is_flag=True, help="Run tools that declare effects, too.")
@click.option("--allow-unevaluated", is_flag=True, help="Cases that cannot be evaluated do not count.")
@click.option("--resume", metavar="RUN", help="Continue a run that was cut short.")
@click.option("--reuse-inference", metavar="RUN", help="Judge what the agent did in a stored run.")
@click.pass_context
def command(ctx: click.Context, /, agent: str, sets: tuple[str, ...], **values: Any) -> None:
    """Run the cases of SETS (files, or ids in the agent's folder, each with :case,case) against AGENT.

    Status 0: all passed; 1: a case failed, or nothing ran; 2: a case could not be evaluated, and none failed.
    """
    logging.basicConfig(level=values["log_level"].upper())
    storage = storage_of(values["eval_storage_uri"])
    subject = subject_of(agent, composition_of(ctx, None))
    eval_sets = sets_of(subject, sets, storage[0] if storage is not None else None)
    try:
        options = _options(subject, values)
    except ValidationError as error:
        raise ConfigurationError(f"the options of the command: {problems_of(error)}") from None
    config = _config(values["config_file_path"], sets, subject.folder)
    path = _stored(subject, values["resume"]) or subject.runs / f"{subject.name}_{seam.clock()}{SUFFIX}"
    if not any(True for _ in units_of(eval_sets, options)):
        raise click.ClickException("there is no case to run: the sets are empty, or nothing matches --case and --tag")
    job = _run(subject, eval_sets, config, options, path, values)
    try:
        run = run_loop(job)
    except KeyboardInterrupt:
        say_how_to_resume(path, "interrupted")
        sys.stdout.flush()
        os._exit(INTERRUPTED)  # a tool's thread that never ends must not keep the process alive
    except RunFileError as error:
        if path.is_file() and path.stat().st_size:
            say_how_to_resume(path, f"Error: {error}")
            ctx.exit(UNEVALUATED)
        raise
    if values["print_detailed_results"]:
        print_details_of(run)
    print_summary(run)
    if storage is not None:
        for eval_set in eval_sets:
            with closing(storage[1].pending(subject.name, eval_set.eval_set_id)) as pending:
                for number, unit in enumerate(run.whole_units(eval_set.eval_set_id)):
                    pending.add(number, unit.result)
                pending.save()
    ctx.exit(_status(run, values["allow_unevaluated"]))


async def _run(
    subject: Subject, sets: list[EvalSet], config: EvalConfig, options: RunOptions, path: Path, values: dict[str, Any]
) -> EvaluationRun:
    reuse = _stored(subject, values["reuse_inference"])
    with progress(sum(1 for _ in units_of(sets, options)), sys.stderr.isatty()) as on_result:
        return await evaluate(
            None if subject.source.app is not None else subject.source.agent,
            sets,
            config,
            app=subject.source.app,
            app_name=subject.name,
            options=options,
            folder=subject.folder,
            run_file=path,
            resume=values["resume"] is not None,
            reuse=reuse,
            results_folder=subject.history,
            slim=True,
            on_result=on_result,
        )


def _status(run: EvaluationRun, allow_unevaluated: bool) -> int:
    if run.stopped is not None and run.run_file is not None:
        say_how_to_resume(run.run_file, run.stopped)
        return UNEVALUATED
    states = statuses(run.units)
    if FAILED in states or states <= {SKIPPED}:
        return FAILURE
    return UNEVALUATED if ERROR in states and not allow_unevaluated else 0


def _config(path: str | None, sets: tuple[str, ...], folder: Path) -> EvalConfig:
    """The config that is named, else the one next to the files, or in the agent's folder, where ids stand."""
    if path is not None and not Path(path).is_file():
        raise click.ClickException(f"there is no config file {path}")
    if path is None:
        files = [Path(one if Path(one).is_file() else one.rpartition(":")[0]) for one in sets]
        folders = {file.parent if file.is_file() else folder for file in files} or {folder}
        if len(folders) == 1:
            path = str(folders.pop() / "test_config.json")
    if (path is None or not Path(path).is_file()) and sets and all(is_foreign(one) for one in sets):
        return EvalConfig()
    return get_evaluation_criteria_or_default(path)


def _options(subject: Subject, values: dict[str, Any]) -> RunOptions:
    cassette_file = values["cassette_file"] or (str(subject.runs / "cassette.jsonl") if values["cassette"] else None)
    return RunOptions(
        parallelism=values["parallelism"],
        repeats=values["repeat"],
        case_timeout=values["case_timeout"],
        rate_limits=dict(_rate_limit(text) for text in values["rate_limit"]),
        budget=Budget(max_cost=values["max_cost"], max_tokens=values["max_tokens"], max_seconds=values["max_seconds"]),
        cases=values["cases"],
        tags=values["tags"],
        allow_effects=values["allow_effects"],
        cassette=values["cassette"],
        cassette_file=cassette_file,
    )


def _rate_limit(text: str) -> tuple[str, RateLimit]:
    """``MODEL=60``, ``MODEL=60,100000tok`` or ``MODEL=100000tok``."""
    model, equals, rates = text.rpartition("=")
    calls = tokens = None
    try:
        for rate in rates.split(",") if equals else ():
            if rate.endswith("tok"):
                tokens = int(rate.removesuffix("tok"))
            else:
                calls = int(rate)
    except ValueError:
        equals = ""
    if not equals or not model or (calls is None and tokens is None):
        raise ConfigurationError(f"--rate-limit {text!r} is not of the form MODEL=60 or MODEL=60,100000tok")
    return model, RateLimit(per_minute=calls, tokens_per_minute=tokens)


def _stored(subject: Subject, run: str | None) -> Path | None:
    """A run by its path, or by its name in the agent's history."""
    if run is None:
        return None
    for path in (Path(run), subject.runs / run, subject.runs / f"{run}{SUFFIX}", subject.history / run):
        if path.is_file():
            return path
    raise click.ClickException(f"there is no run {run}; {subject.runs} has the runs of this agent")
