"""What became of the mutants of each module, which a run goes on from; and which survivors docs/explanation explains.

python tests/mutants/reports.py FOLDER [PATH ...] prints the score, and what survives unexplained: then it ends with 1.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mutations import Mutant

ESCAPED = ("survived", "not reached")
_DOCUMENT = Path("docs/explanation/mutants.md")


def files_of(names: Sequence[str]) -> list[Path]:
    """The Python files that are named, or are in the folders that are."""
    paths = [Path(name).resolve() for name in names]
    return [file for path in paths for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]


class Report:
    """The outcomes of one module's mutants: a line of JSON each, the last line of a name counts."""

    def __init__(self, folder: Path, file: Path) -> None:
        self.module = module_of(file)
        self.path = folder / f"{self.module.replace('/', '.')}.jsonl"
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.is_file() else []
        self.entries: dict[str, Any] = {entry["name"]: entry for entry in map(json.loads, lines)}

    def keep(self, mutants: Iterable[Mutant]) -> None:
        """Forget those that there are no more, or whose function changed."""
        now = {mutant.name: mutant.function_digest for mutant in mutants}
        self.entries = {name: one for name, one in self.entries.items() if now.get(name) == one["of"]}
        self.path.write_text("".join(f"{json.dumps(one)}\n" for one in self.entries.values()), encoding="utf-8")

    def wants(self, mutant: Mutant, again: bool) -> bool:
        """Whether it is to be tried."""
        entry = self.entries.get(mutant.name)
        return entry is None or (again and entry["outcome"] in ESCAPED)

    def add(self, mutant: Mutant, outcome: str, tests: int, seconds: float) -> None:
        """Note what became of it, and tell where it escaped."""
        self.entries[mutant.name] = entry = {
            "name": mutant.name,
            "function": mutant.function,
            "line": mutant.first,
            "before": mutant.before,
            "after": mutant.after,
            "of": mutant.function_digest,
            "outcome": outcome,
            "tests": tests,
            "seconds": round(seconds, 2),
        }
        with self.path.open("a", encoding="utf-8") as out:
            out.write(json.dumps(entry) + "\n")
        if outcome in ESCAPED:
            print(
                f"{outcome}: {os.path.relpath(mutant.path)}:{mutant.first}\n    {mutant.before}\n    {mutant.after}",
                flush=True,
            )

    @property
    def escaped(self) -> list[Any]:
        """Those that no test noticed."""
        return [entry for entry in self.entries.values() if entry["outcome"] in ESCAPED]


def module_of(file: Path) -> str:
    """The short name of a module: its path, of the kernel's within `_internal`."""
    path = os.path.relpath(file).removesuffix(".py")
    return path.removeprefix("kernel/newel_kernel/_internal/")


@dataclass(slots=True)
class Explanation:
    """A line of the document: the survivors of a function that it explains."""

    module: str
    functions: tuple[str, ...]
    #: What a survivor's line before or after the change contains; one is enough, none means all of the function's.
    texts: tuple[str, ...]
    used: bool = False

    def covers(self, module: str, entry: Any) -> bool:
        """Whether it explains this survivor."""
        if module != self.module or entry["function"] not in self.functions:
            return False
        changed = f"{entry['before']} -> {entry['after']}"
        hit = not self.texts or any(text in changed for text in self.texts)
        self.used = self.used or hit
        return hit


#: * `module`: `function`, `function`: `text`, `text`: why.
_LINE = re.compile(r"^\* `([\w/]+)`: ((?:`[^`]+`(?:, )?)+)(?:: ((?:`[^`]+`(?:, )?)+))?: \S")


def explanations(text: str) -> Iterator[Explanation]:
    """What a document explains."""
    for line in text.splitlines():
        if match := _LINE.match(line):
            module, functions, texts = match.groups()
            yield Explanation(
                module, tuple(re.findall("`([^`]+)`", functions)), tuple(re.findall("`([^`]+)`", texts or ""))
            )


def table(folder: Path, files: Sequence[Path]) -> str:
    """The score of each module and of all, in Markdown."""
    rows = []
    total: Counter[str] = Counter()
    for file in files:
        report = Report(folder, file)
        counts = Counter(entry["outcome"] for entry in report.entries.values())
        if sum(counts.values()) > counts["unfit"]:
            rows.append(_row(f"`{report.module}`", counts))
            total += counts
    head = ["| module | mutants | fail a test | hang | survive | caught |", "|---|--:|--:|--:|--:|--:|"]
    return "\n".join([*head, *rows, _row("all", total)])


def _row(name: str, counts: Counter[str]) -> str:
    escaped = sum(counts[one] for one in ESCAPED)
    count = sum(counts.values()) - counts["unfit"]
    caught = f"{1 - escaped / max(count, 1):.1%}"
    return f"| {name} | {count} | {counts['killed']} | {counts['timed out']} | {escaped} | {caught} |"


def main(folder: Path, files: Sequence[Path]) -> int:
    """Print the score, and the survivors that the document does not explain."""
    known = list(explanations(_DOCUMENT.read_text(encoding="utf-8")))
    print(table(folder, files))
    unexplained = 0
    for report in (Report(folder, file) for file in files):
        for entry in report.escaped:
            if not any(one.covers(report.module, entry) for one in known):
                unexplained += 1
                place = f"{report.module}:{entry['line']} {entry['function']}"
                print(f"{place}\n    {entry['before']}\n    {entry['after']}")
    modules = {module_of(file) for file in files}
    for one in known:
        if one.module in modules and not one.used:
            print(f"explained, and does not survive: {one.module}, {', '.join(one.functions)}: {', '.join(one.texts)}")
    print(f"{unexplained} survive unexplained")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), files_of(sys.argv[2:])))
