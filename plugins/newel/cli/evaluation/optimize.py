"""`newel optimize`: a better instruction for an agent, by what its eval sets say."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path

import click

from newel.cli.evaluation.sets import subject_of
from newel.cli.startup import composition_of
from newel.evaluation.files import read_model
from newel.evaluation.local_eval_sets_manager import LocalEvalSetsManager
from newel.optimization.gepa_root_agent_prompt_optimizer import (
    GEPARootAgentPromptOptimizer,
    GEPARootAgentPromptOptimizerConfig,
)
from newel.optimization.local_eval_sampler import LocalEvalSampler, LocalEvalSamplerConfig
from newel_kernel import ConfigurationError

_RULE = "=" * 80
_THIN = "-" * 80


@click.command("optimize")
@click.argument("agent_dir", type=click.Path(exists=True, file_okay=False))
@click.option(
    "--sampler_config_file_path", required=True, type=click.Path(exists=True, dir_okay=False),
    help="eval_config, app_name, train_eval_set, and what else says which cases are tried.",
)  # fmt: skip
@click.option(
    "--optimizer_config_file_path", type=click.Path(exists=True, dir_okay=False),
    help="optimizer_model, max_metric_calls, reflection_minibatch_size, run_dir, seed.",
)  # fmt: skip
@click.option("--print_detailed_results", is_flag=True, help="Print what the search says of every candidate.")
@click.option("--log_level", default="WARNING", show_default=True, help="Level of the log on stderr.")
@click.pass_context
def optimize(
    ctx: click.Context, agent_dir: str, sampler_config_file_path: str, optimizer_config_file_path: str | None,
    print_detailed_results: bool, log_level: str,
) -> None:  # fmt: skip
    """Search for a better instruction of the root agent in AGENT_DIR, and print it; no file is changed.

    GEPA does the search: `pip install 'newel[optimize]'`.
    """
    logging.basicConfig(level=log_level.upper())
    sampler_config = read_model(LocalEvalSamplerConfig, _text(sampler_config_file_path), sampler_config_file_path)
    config = GEPARootAgentPromptOptimizerConfig()
    if optimizer_config_file_path is not None:
        path = optimizer_config_file_path
        config = read_model(GEPARootAgentPromptOptimizerConfig, _text(path), path)
    subject = subject_of(agent_dir, composition_of(ctx, None))
    if sampler_config.app_name != subject.name:
        raise ConfigurationError(
            f"app_name in {sampler_config_file_path} is {sampler_config.app_name!r}, and the agent's folder "
            f"{subject.name!r}: write the folder's name there"
        )
    sampler = LocalEvalSampler(sampler_config, LocalEvalSetsManager(subject.folder.parent))
    result = asyncio.run(GEPARootAgentPromptOptimizer(config).optimize(subject.source.agent, sampler))
    details = result.gepa_result or {}
    best = result.optimized_agents[details["best_idx"]]
    click.echo(f"{_RULE}\nOptimized root agent instructions:\n{_THIN}")
    click.echo(getattr(best.optimized_agent, "instruction", ""))
    if print_detailed_results:
        click.echo(f"{_RULE}\nDetailed GEPA optimization metrics:\n{_THIN}")
        click.echo(json.dumps(details, indent=2, default=str))
    click.echo(_RULE)


def _text(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")
