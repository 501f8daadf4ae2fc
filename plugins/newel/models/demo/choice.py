"""Which tool, or which other agent, fits a message: by the words they share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from newel.models.demo.words import overlap, stems
from newel.models.offline.declarations import EXIT_LOOP, FINISHERS, TRANSFER, Declared

NAME, DESCRIPTION, PARAMETERS = 3.0, 1.5, 0.8
#: Less than this is a coincidence, unless it is most of what the message says.
THRESHOLD = 2.0
_SECTION = re.compile(r"^\s*(Args|Arguments|Parameters|Returns?|Raises|Yields|Examples?)\s*:\s*$", re.MULTILINE)
_CLAUSE = re.compile(r"\s*(?:[;.?!]\s+|,?\s+(?:and then|then|and also|and)\s+)")
_AGENT = re.compile(r"Agent name:\s*(?P<name>\w+)\s+Agent description:[ \t]*(?P<text>.*?)(?=\n\s*\n|\Z)", re.DOTALL)
_MYSELF = re.compile(r'The description about you is "(?P<text>.*?)"(?:\.|$)', re.DOTALL)
_MY_NAME = re.compile(r'Your internal name is "(?P<name>[^"]*)"')
_LIST = "You have a list of other agents to transfer to:"


@dataclass(frozen=True, slots=True)
class Profile:
    """The stems by which a tool or an agent can be found."""

    name: frozenset[str]
    description: frozenset[str]
    parameters: frozenset[str] = frozenset()

    @property
    def all(self) -> frozenset[str]:
        """The stems of all its words."""
        return self.name | self.description | self.parameters


@dataclass(frozen=True, slots=True)
class Fit:
    """A tool and the part of the message that it is for."""

    tool: Declared
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class OtherAgent:
    """An agent to which the question can be handed."""

    name: str
    description: str


def profile(tool: Declared) -> Profile:
    """The stems of a tool; of its docstring, only the description and the arguments count."""
    prose, *sections = _SECTION.split(tool.description, maxsplit=1)
    rest = " ".join(sections[1:])
    arguments = _SECTION.split(rest, maxsplit=1)[0] if sections and sections[0].startswith(("Arg", "Par")) else ""
    properties = tool.parameters.get("properties", {})
    described = (f"{name} {_described(schema)}" for name, schema in properties.items())
    return Profile(
        frozenset(stems(tool.name)),
        frozenset(stems(prose)),
        frozenset(stems(" ".join((*described, arguments)))),
    )


def _described(schema: Any) -> str:
    if not isinstance(schema, dict):
        return ""
    return " ".join((str(schema.get("description", "")), *map(str, schema.get("enum", ()))))


def score(query: Sequence[str], candidate: Profile) -> float:
    """How well `candidate` fits the stems in `query`; 0 if it does not."""
    total, has_name, count = 0.0, False, 0
    for word in query:
        by_name, by_text = overlap(word, candidate.name), overlap(word, candidate.description)
        has_name = has_name or by_name > 0
        count += 1 if by_name or by_text else 0
        total += max(by_name * NAME, by_text * DESCRIPTION, overlap(word, candidate.parameters) * PARAMETERS)
    if not count or (not has_name and total < THRESHOLD and count * 2 < len(query)):
        return 0.0
    return total if has_name or count > 1 or count * 2 >= len(query) else 0.0


def choose(text: str, tools: Iterable[Declared]) -> Fit | None:
    """The tool that fits best; the one declared first if several fit equally."""
    query = stems(text)
    fits = [Fit(tool, text, score(query, profile(tool))) for tool in ordinary(tools)]
    best = max(fits, key=lambda fit: fit.score, default=None)
    return best if best is not None and best.score > 0 else None


def choose_per_clause(text: str, tools: Sequence[Declared]) -> list[Fit]:
    """The tools that fit a message's clauses; a clause without a tool belongs to the clause before it.

    If all clauses fit the same tool, the message counts as one clause.
    """
    fits: list[Fit] = []
    loose = ""
    for clause in filter(None, _CLAUSE.split(text)):
        fit = choose(clause, tools)
        if fit is not None:
            fits.append(Fit(fit.tool, f"{loose} {clause}".strip(), fit.score))
            loose = ""
        elif fits:
            fits[-1] = Fit(fits[-1].tool, f"{fits[-1].text} and {clause}", fits[-1].score)
        else:
            loose = f"{loose} {clause}".strip()
    if len({fit.tool.name for fit in fits}) > 1:
        return fits
    whole = choose(text, tools)
    return [whole] if whole is not None else fits


def ordinary(tools: Iterable[Declared]) -> list[Declared]:
    """The tools that do something, without those that steer the agent."""
    return [tool for tool in tools if tool.name not in (TRANSFER, EXIT_LOOP, *FINISHERS)]


def other_agents(instruction: str, tools: Iterable[Declared]) -> list[OtherAgent]:
    """The agents that `transfer_to_agent` may name, with their descriptions from the system instruction."""
    declared = next((tool for tool in tools if tool.name == TRANSFER), None)
    if declared is None:
        return []
    listed = instruction.partition(_LIST)[2]
    described = {match["name"]: match["text"].strip() for match in _AGENT.finditer(listed)}
    allowed = declared.parameters.get("properties", {}).get("agent_name", {}).get("enum") or list(described)
    return [OtherAgent(str(name), described.get(str(name), "")) for name in allowed]


def choose_agent(text: str, agents: Iterable[OtherAgent], least: float, instruction: str) -> OtherAgent | None:
    """The agent that fits better than `least` and than the agent itself does."""
    query = stems(text)
    own = score(query, _person(own_name(instruction), own_description(instruction)))
    best: OtherAgent | None = None
    bar = max(least, own)
    for agent in agents:
        fit = score(query, _person(agent.name, agent.description))
        if fit > bar:
            best, bar = agent, fit
    return best


def _person(name: str, description: str) -> Profile:
    return Profile(frozenset(stems(name)), frozenset(stems(description)))


def own_description(instruction: str) -> str:
    """The agent's description, as the system instruction gives it."""
    match = _MYSELF.search(instruction)
    return match["text"] if match else ""


def own_name(instruction: str) -> str:
    """The agent's name, as the system instruction gives it."""
    match = _MY_NAME.search(instruction)
    return match["name"] if match else ""
