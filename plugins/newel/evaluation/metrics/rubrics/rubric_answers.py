"""Reading a judge's answer about rubrics: blocks of `Property`, `Rationale` and `Verdict`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from newel.evaluation.cases.eval_rubrics import Rubric, RubricScore

#: Matches lines that look like a part of a judge's answer.
VERDICTS = re.compile(r"(?im)^[\W\d_]*(?:Property|Verdict)[\W_]*:")
_LINE = r"(?im)^[ \t>*_#-]*(?:\(?\d+[.):])?[ \t*_#-]*{name}[*_]*[ \t]*:[ \t]*(.*)$"
#: A verdict is the word that stands first, or last after a colon or "is".
_FIRST = re.compile(
    r"[\W_]*(yes|no)(?!\w|'[a-z])(?!\s*(?:/|\bor\b)\s*(?:yes|no)\b)(?!\s+(?:way|idea|answer|verdict|opinion)\b)"
)
_LAST = re.compile(r"(?:[:=]|\bis\b)[\W_]*(yes|no)[\W_]*$")
_PROPERTY, _RATIONALE, _VERDICT = (re.compile(_LINE.format(name=name)) for name in ("Property", "Rationale", "Verdict"))
_ID = re.compile(_LINE.format(name="ID"))
_QUOTES = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u00b4": "'", "\u2013": "-", "\u2014": "-"}
)


@dataclass(frozen=True, slots=True)
class RubricResponse:
    """What a judge says about one property."""

    property_text: str | None
    rationale: str | None
    score: float | None
    rubric_id: str | None = None


def parse(answer: str) -> list[RubricResponse]:
    """The blocks of an answer; none if its lines do not add up."""
    properties, rationales, verdicts = (list(one.finditer(answer)) for one in (_PROPERTY, _RATIONALE, _VERDICT))
    if not len(properties) == len(rationales) == len(verdicts):
        return []
    ids = list(_ID.finditer(answer))
    responses, before = [], 0
    for name, why, verdict in zip(properties, rationales, verdicts, strict=True):
        own = [one for one in ids if before <= one.start() < name.start()]
        responses.append(
            RubricResponse(
                name.group(1).strip(),
                why.group(1).strip(),
                score_of(verdict.group(1)),
                own[-1].group(1).strip() if own else None,
            )
        )
        before = name.end()
    return responses


def score_of(verdict: str) -> float | None:
    """1 if it says `yes`, 0 if it says `no`, each as a word of its own; None if it says neither."""
    text = unicodedata.normalize("NFKC", verdict).translate(_QUOTES).casefold()
    found = _FIRST.match(text) or _LAST.search(text)
    return None if found is None else float(found[1] == "yes")


def normalised(text: str) -> str:
    """A property's text in the form in which it is compared: without case, typographic quotes and decoration."""
    text = unicodedata.normalize("NFKC", text).translate(_QUOTES).lower()
    text = re.sub(r"\s+", " ", text).strip()
    return text.strip("*_`#\"'[]() ").rstrip(".,;:").strip("*_`\"' ")


def scores_of(responses: Sequence[RubricResponse], rubrics: Sequence[Rubric]) -> list[RubricScore]:
    """The scores of the rubrics that the answer covers; unknown properties are dropped."""
    by_id = {rubric.rubric_id: rubric for rubric in rubrics}
    by_text = {normalised(rubric.text): rubric for rubric in rubrics}
    scores: dict[str, RubricScore] = {}
    for one in responses:
        rubric = by_id.get(_bare(one.rubric_id)) or by_text.get(normalised(one.property_text or ""))
        if rubric is not None:
            scores[rubric.rubric_id] = RubricScore(rubric_id=rubric.rubric_id, rationale=one.rationale, score=one.score)
    return list(scores.values())


def _bare(rubric_id: str | None) -> str:
    return (rubric_id or "").strip("*_`\"'[]() ")
