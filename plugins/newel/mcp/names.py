"""Names: those of a server's tools, made fit for the services of models, one to one.

A name that a service refuses gets a spelling that depends on it alone. A name that the runtime uses itself, or that
the server has twice, is left out, and the reason is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from newel.mcp.texts import one_line
from newel.models.wire.names import legal

#: The most characters of a name, its prefix included.
MOST = 64
_LEGAL = re.compile(r"[A-Za-z0-9_-]")
_RESERVED = frozenset(
    {
        "exit_loop",
        "finish_task",
        "load_artifacts",
        "load_mcp_resource",
        "load_memory",
        "set_model_response",
        "transfer_to_agent",
    }
)
_RESERVED_STARTS = ("adk_", "newel_")


def spelt(name: str, room: int = MOST) -> str:
    """`name` as every service takes it, in at most `room` characters; different names differ."""
    made = legal(name, room, _LEGAL)
    return made if made[0].isalpha() or made[0] == "_" else legal(f"n_{name}", room, _LEGAL)


def fitted(names: Iterable[str], prefix: str | None) -> tuple[dict[str, str], list[str]]:
    """Name -> spelling, in order, and what is left out, each with its reason. A prefix frees the reserved names."""
    spellings: dict[str, str] = {}
    taken: set[str] = set()
    left_out: list[str] = []
    room = MOST - (len(prefix) + 1 if prefix else 0)
    for name in names:
        spelling = spelt(name, max(room, 16))
        if not name.strip():
            left_out.append("a tool without a name")
        elif name in spellings or spelling in taken:
            left_out.append(f"{one_line(name)!r}: the server has two tools of this name")
        elif not prefix and (spelling in _RESERVED or spelling.startswith(_RESERVED_STARTS)):
            left_out.append(f"{one_line(name)!r}: the name is reserved; set a tool_name_prefix to have it")
        else:
            spellings[name] = spelling
            taken.add(spelling)
    return spellings, left_out
