"""Alignment: pairing two lists one to one so that the sum of the pairs' weights is as large as possible."""

from __future__ import annotations

from collections.abc import Sequence

_INFINITY = float("inf")


def best_alignment(weights: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """The pairs ``(row, column)`` of the heaviest one-to-one pairing; pairs without a positive weight are left out.

    The Hungarian method with potentials, cubic in the longer side (Jonker and Volgenant's form).
    """
    rows = len(weights)
    columns = len(weights[0]) if rows else 0
    if not columns:
        return []
    size = max(rows, columns)
    cost = [[-weights[r][c] if r < rows and c < columns else 0.0 for c in range(size)] for r in range(size)]
    owner = _assigned(cost, size)
    pairs = ((owner[c] - 1, c - 1) for c in range(1, size + 1))
    return sorted((r, c) for r, c in pairs if r < rows and c < columns and weights[r][c] > 0)


def _assigned(cost: list[list[float]], size: int) -> list[int]:
    """The row of each column, both counted from 1."""
    of_row, of_column = [0.0] * (size + 1), [0.0] * (size + 1)
    owner, previous = [0] * (size + 1), [0] * (size + 1)
    for row in range(1, size + 1):
        owner[0], column = row, 0
        least, used = [_INFINITY] * (size + 1), [False] * (size + 1)
        while owner[column]:
            used[column] = True
            column = _cheapest(cost, owner[column], column, of_row, of_column, least, used, previous)
            _shift(least[column], owner, of_row, of_column, least, used)
        while column:
            owner[column] = owner[previous[column]]
            column = previous[column]
    return owner


def _cheapest(
    cost: list[list[float]],
    row: int,
    column: int,
    of_row: list[float],
    of_column: list[float],
    least: list[float],
    used: list[bool],
    previous: list[int],
) -> int:
    """Relax the free columns from `row`; return the cheapest one."""
    best = 0
    for c in range(1, len(used)):
        if used[c]:
            continue
        reduced = cost[row - 1][c - 1] - of_row[row] - of_column[c]
        if reduced < least[c]:
            least[c], previous[c] = reduced, column
        if best == 0 or least[c] < least[best]:
            best = c
    return best


def _shift(
    by: float, owner: list[int], of_row: list[float], of_column: list[float], least: list[float], used: list[bool]
) -> None:
    for c, taken in enumerate(used):
        if taken:
            of_row[owner[c]] += by
            of_column[c] -= by
        else:
            least[c] -= by
