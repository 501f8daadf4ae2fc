"""`newel optimize`: a better instruction for an agent, by what its eval sets say."""

from __future__ import annotations

import json
import logging
import os
import sys
from pathlib import Path

import click

from newel.cli.evaluation.output import INTERRUPTED, say_how_to_resume
from newel.cli.evaluation.sets import Subject, subject_of
from newel.cli.exit import run_loop
from newel.cli.startup import composition_of
from newel.evaluation.storage.files import read_model, read_text
from newel.evaluation.storage.local_eval_sets_manager import LocalEvalSetsManager
from newel.optimization.gepa_root_agent_prompt_optimizer import (
    GEPARootAgentPromptOptimizer,
    GEPARootAgentPromptOptimizerConfig,
)
from newel.optimization.local_eval_sampler import LocalEvalSampler, LocalEvalSamplerConfig
from newel_kernel import ConfigurationError, seam

_RULE = "=" * 80
_THIN = "-" * 80


@click.command("optimize")
@click.argument("agent_dir", type=click.Path(exists=True, file_okay=False))
@click.option(
    "--sampler_config_file_path",
    required=True,
    type=click.Path(exists=True, dir_okay=False),
    help="A JSON file with eval_config, app_name, train_eval_set and other settings that choose the cases.",
)
@click.option(
    "--optimizer_config_file_path",
    type=click.Path(exists=True, dir_okay=False),
    help="optimizer_model, max_metric_calls, reflection_minibatch_size, run_dir, seed.",
)
@click.option("--print_detailed_results", is_flag=True, help="Print what the search says about every candidate.")
@click.option("--resume", metavar="RUN", help="Continue a search that was cut short, by its folder.")
@click.option("--log_level", default="WARNING", show_default=True, help="Level of the log on stderr.")
@click.pass_context
def optimize(
    ctx: click.Context,
    agent_dir: str,
    sampler_config_file_path: str,
    optimizer_config_file_path: str | None,
    print_detailed_results: bool,
    resume: str | None,
    log_level: str,
) -> None:
    """Search for a better instruction of the root agent in AGENT_DIR, and print it; its files are not changed.

    Its state is kept in the agent's folder, in .adk/optimize_runs. GEPA does it: `pip install 'newel[optimize]'`.
    """
    logging.basicConfig(level=log_level.upper())
    sampler_config = read_model(LocalEvalSamplerConfig, read_text(sampler_config_file_path), sampler_config_file_path)
    config = GEPARootAgentPromptOptimizerConfig()
    if optimizer_config_file_path is not None:
        path = optimizer_config_file_path
        config = read_model(GEPARootAgentPromptOptimizerConfig, read_text(path), path)
    subject = subject_of(agent_dir, composition_of(ctx, None))
    if sampler_config.app_name != subject.name:
        raise ConfigurationError(
            f"app_name in {sampler_config_file_path} is {sampler_config.app_name!r}, and the agent's folder "
            f"{subject.name!r}: write the folder's name there"
        )
    run_dir = _run_dir(subject, resume, config)
    optimizer = GEPARootAgentPromptOptimizer(config.model_copy(update={"run_dir": str(run_dir)}))
    sampler = LocalEvalSampler(sampler_config, LocalEvalSetsManager(subject.folder.parent))
    try:
        result = run_loop(optimizer.optimize(subject.source.agent, sampler))
    except KeyboardInterrupt:
        say_how_to_resume(run_dir, "interrupted")
        sys.stdout.flush()
        os._exit(INTERRUPTED)  # a tool's thread that never ends must not keep the process alive
    details = result.gepa_result or {}
    best = result.optimized_agents[details["best_idx"]]
    click.echo(f"{_RULE}\nOptimized root agent instructions:\n{_THIN}")
    click.echo(getattr(best.optimized_agent, "instruction", ""))
    if print_detailed_results:
        click.echo(f"{_RULE}\nDetailed GEPA optimization metrics:\n{_THIN}")
        click.echo(json.dumps(details, indent=2, default=str))
    click.echo(_RULE)


def _run_dir(subject: Subject, resume: str | None, config: GEPARootAgentPromptOptimizerConfig) -> Path:
    """The folder of the search's state: that of the search to resume, else the config's, else a new one."""
    if resume is None:
        name = f"{subject.name}_{seam.clock()}"
        return Path(config.run_dir) if config.run_dir is not None else subject.searches / name
    for path in (Path(resume), subject.searches / resume):
        if path.is_dir():
            return path
    raise click.ClickException(f"there is no search {resume}; {subject.searches} has those of this agent")
