"""Checks of answers that need no code: a criterion with a `value` says what to look for."""

from __future__ import annotations

import json
import re
from importlib import import_module
from typing import Any, ClassVar

from pydantic import Field

from newel.evaluation.cases.eval_case import Invocation
from newel.evaluation.metrics.checks.languages import LANGUAGES, language_of
from newel.evaluation.metrics.criteria import BaseCriterion
from newel.evaluation.metrics.eval_metrics import EvalMetric
from newel.evaluation.metrics.scoring import TurnEvaluator, TurnScore, answer_of, criterion_as
from newel_kernel import ConfigurationError, did_you_mean

_NUMBER = re.compile(r"[-+]?\d[\d,]*\.?\d*(?:[eE][-+]?\d+)?")
_REFUSAL = re.compile(
    "|".join(
        (
            r"\bi(?:['\u2019]m| am) (?:sorry|unable|not able)",
            r"\bi (?:can(?:not|['\u2019]t)|won['\u2019]t|am not allowed to|must decline)",
            r"\b(?:cannot|can['\u2019]t) (?:help|assist|do that|comply)",
            r"\bnot able to (?:help|assist)",
            r"\bagainst (?:my|the) (?:policy|rules|guidelines)",
        )
    ),
    re.IGNORECASE,
)


class CheckCriterion(BaseCriterion):
    """What a check looks for: `value`, or without it the expected answer, if that makes sense."""

    threshold: float = 1.0
    value: Any = None
    ignore_case: bool = False
    #: For `numeric_tolerance`: how far the number may be off.
    tolerance: float = Field(default=0.0, ge=0)


class CheckEvaluator(TurnEvaluator):
    """1 if the answer of a turn passes the check, else 0."""

    criterion_type: ClassVar[type[BaseCriterion]] = CheckCriterion
    needs_reference = False

    def __init__(self, eval_metric: EvalMetric) -> None:
        super().__init__(eval_metric=eval_metric)
        self.name = eval_metric.metric_name
        criterion = criterion_as(eval_metric, CheckCriterion)
        self.criterion: CheckCriterion = criterion or CheckCriterion()
        self.prepare()

    def prepare(self) -> None:
        """Refuse a criterion that cannot be checked."""

    def score_turn(self, actual: Invocation, expected: Invocation | None) -> TurnScore:
        """Check the answer."""
        problem = self.problem(answer_of(actual), answer_of(expected) if expected is not None else None)
        return TurnScore(1.0) if problem is None else TurnScore(0.0, problem)

    def problem(self, answer: str, reference: str | None) -> str | None:
        """What is wrong with an answer, or None."""
        raise NotImplementedError

    def target(self, reference: str | None) -> Any:
        """The value of the criterion, else the reference."""
        value = self.criterion.value if self.criterion.value is not None else reference
        if value is None:
            raise ConfigurationError(f"{self.name} has nothing to look for: give `value`, or an expected answer")
        return value

    def folded(self, text: str) -> str:
        """`text` in the form in which it is compared."""
        return text.casefold() if self.criterion.ignore_case else text


class Contains(CheckEvaluator):
    """`contains`: a text, or every text of a list."""

    def problem(self, answer: str, reference: str | None) -> str | None:
        """The first text that the answer lacks."""
        value = self.target(reference)
        texts = value if isinstance(value, list) else [value]
        missing = [text for text in texts if self.folded(str(text)) not in self.folded(answer)]
        return f"the answer does not contain {missing[0]!r}" if missing else None


class Matches(CheckEvaluator):
    """`regex`: a pattern that is found somewhere in the answer."""

    def prepare(self) -> None:
        """Refuse a broken pattern."""
        try:
            self._pattern = re.compile(str(self.target(None)), re.IGNORECASE if self.criterion.ignore_case else 0)
        except re.error as error:
            raise ConfigurationError(f"the value of {self.name} is not a pattern: {error}") from None

    def problem(self, answer: str, reference: str | None) -> str | None:
        """Whether the pattern is found."""
        return None if self._pattern.search(answer) else f"the answer has no match of {self._pattern.pattern!r}"


class Equals(CheckEvaluator):
    """`equals`: the answer, without white space around it."""

    def problem(self, answer: str, reference: str | None) -> str | None:
        """Whether the texts are equal."""
        value = str(self.target(reference)).strip()
        same = self.folded(answer.strip()) == self.folded(value)
        return None if same else f"expected {value!r}, but the answer was {answer.strip()!r}"


class FitsSchema(CheckEvaluator):
    """`json_schema`: the answer is JSON that fits the schema; a code fence around it is allowed."""

    def prepare(self) -> None:
        """Load the validator; refuse a broken schema."""
        try:
            jsonschema = import_module("jsonschema")
        except ImportError:
            raise ConfigurationError(f"{self.name} needs the package jsonschema; install it") from None
        self._validator = jsonschema.Draft202012Validator(self.target(None))
        try:
            self._validator.check_schema(self._validator.schema)
        except jsonschema.SchemaError as error:
            raise ConfigurationError(
                f"the value of {self.name} is not a JSON schema: {error.json_path}: {error.message}"
            ) from None

    def problem(self, answer: str, reference: str | None) -> str | None:
        """The first error."""
        text = re.sub(r"\A\s*```(?:json)?\s*|\s*```\s*\Z", "", answer)
        try:
            data = json.loads(text)
        except ValueError as error:
            return f"the answer is not JSON: {error}"
        first = next(iter(self._validator.iter_errors(data)), None)
        return None if first is None else f"{first.json_path}: {first.message}"


class NumberIsNear(CheckEvaluator):
    """`numeric_tolerance`: the answer has a number that is off by `tolerance` at most."""

    def problem(self, answer: str, reference: str | None) -> str | None:
        """Whether a number of the answer is near enough."""
        expected = _numbers(str(self.target(reference)))
        if not expected:
            raise ConfigurationError(f"{self.name} has no number to compare with")
        numbers = _numbers(answer)
        if any(abs(number - expected[-1]) <= self.criterion.tolerance for number in numbers):
            return None
        return f"expected {expected[-1]:g} ± {self.criterion.tolerance:g}, but the answer has {numbers or 'no number'}"


def _numbers(text: str) -> list[float]:
    return [float(number.replace(",", "")) for number in _NUMBER.findall(text)]


class Refuses(CheckEvaluator):
    """`refuses`: the answer declines (in English words); with the value false it must not decline."""

    def problem(self, answer: str, reference: str | None) -> str | None:
        """Whether it declines."""
        expected = self.criterion.value is not False
        if bool(_REFUSAL.search(answer)) == expected:
            return None
        return "the answer does not decline" if expected else "the answer declines"


class IsInLanguage(CheckEvaluator):
    """`language`: the language of the answer, as a code such as `en`."""

    def prepare(self) -> None:
        """Refuse a language that cannot be recognised."""
        value = str(self.target(None))
        if value not in LANGUAGES:
            raise ConfigurationError(
                f"{self.name} cannot recognise the language {value!r}{did_you_mean(value, LANGUAGES)} "
                f"(it recognises: {', '.join(sorted(LANGUAGES))})"
            )

    def problem(self, answer: str, reference: str | None) -> str | None:
        """Whether the answer is in that language."""
        language = language_of(answer)
        if language == self.criterion.value:
            return None
        return f"the answer is in {language or 'a language that was not recognised'}"
