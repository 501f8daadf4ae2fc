"""importers: cases of other tools."""

from __future__ import annotations

from newel.evaluation.kinds import CaseSource
from newel_importers import openai_evals, promptfoo, pydantic_evals
from newel_kernel import hookimpl

#: The plugin's name also if the module is given directly, as in ``compose(plugins=[plugin])``.
name = "importers"


@hookimpl
def register_case_sources() -> list[CaseSource]:
    """A reader for each tool's files."""
    return [
        CaseSource(
            name="pydantic-evals",
            reads=pydantic_evals.reads,
            cases=pydantic_evals.cases,
            description="Datasets of pydantic-evals, YAML or JSON.",
        ),
        CaseSource(
            name="promptfoo",
            reads=promptfoo.reads,
            cases=promptfoo.cases,
            description="Configurations and tests of promptfoo, YAML, JSON, JSONL or CSV.",
        ),
        CaseSource(
            name="openai-evals",
            reads=openai_evals.reads,
            cases=openai_evals.cases,
            description="Samples of openai-evals, JSONL.",
        ),
    ]
