"""Pins: the definitions of tools that were seen, so that one that changes is noticed before it is used.

The first definition of a tool is trusted, or asked about. One that differs from its pin is asked about, with what
has changed, before its next call; until then the model sees the old text. The pins of a server are in the app's state.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from newel.contexts.context import Context, full
from newel.mcp.definitions import Definition
from newel.mcp.texts import cleaned, one_line
from newel_kernel import Context as KernelContext
from newel_kernel import Json

#: A definition with more characters is pinned by its digest alone: if it changes, the tool is not shown until asked.
_MOST = 16_000
_MOST_DIFF = 4_000
Pins = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why the user is asked before a tool is used: it is new, or its definition is not the one that was pinned."""

    key: str
    new: Definition
    old: Definition | None

    @property
    def change(self) -> str:
        """What tells it from other doubts."""
        return f"{self.old.digest if self.old is not None else ''}:{self.new.digest}"

    @property
    def hint(self) -> str:
        """The question, with what has changed."""
        name = one_line(self.new.name, 80)
        if self.old is None:
            return f"The tool {name!r} is new. Its server describes it so:\n{cleaned(_text(self.new), _MOST_DIFF)}"
        lines = difflib.unified_diff(
            _text(self.old).split("\n"), _text(self.new).split("\n"), "before", "now", lineterm="", n=1
        )
        return (
            f"The server has changed the definition of the tool {name!r}. Approve the call if the change is "
            f"all right:\n{cleaned(chr(10).join(lines), _MOST_DIFF)}"
        )

    async def resolved(self, context: KernelContext) -> Json | None:
        """None once the user has approved, which pins the definition; else the result that says why not."""
        asker = full(context)
        confirmation = asker.tool_confirmation
        if confirmation is None:
            asker.request_confirmation(hint=self.hint, payload={"digest": self.new.digest})
            context.actions.skip_summarization = True
            return {"error": "The definition of this tool is not the one that was approved: the user is asked."}
        if not confirmation.confirmed:
            return {"error": "The user does not approve of the tool's new definition."}
        asked = confirmation.payload
        if isinstance(asked, Mapping) and asked.get("digest") not in (None, self.new.digest):
            return {"error": "The definition of this tool has changed again since the user was asked about it."}
        pin(asker, self.key, [self.new])
        return None


def key_of(identity: str) -> str:
    """Where in the state the pins of a server are."""
    return f"app:mcp_pins:{identity}"


def pins_in(context: Any, key: str) -> Pins:
    """The pins of a server, by the names of tools."""
    found = context.session.state.get(key) if context is not None else None  # read only: `state` would copy it
    return found if isinstance(found, Mapping) else {}


def unseen(definitions: Iterable[Definition], pins: Pins) -> list[Definition]:
    """The definitions of tools that have no pin."""
    return [one for one in definitions if one.name not in pins]


def pin(context: Context, key: str, definitions: Iterable[Definition]) -> None:
    """Pin definitions: they are stored with the event that the context's actions ride on."""
    context.state[key] = {**pins_in(context, key), **{one.name: _pin(one) for one in definitions}}


def doubts(definitions: Iterable[Definition], pins: Pins, key: str, *, ask_first: bool) -> dict[str, Doubt]:
    """The tools that the user is asked about before they are used, by name."""
    found = {}
    for one in definitions:
        known = pins.get(one.name)
        if known is None:
            if ask_first:
                found[one.name] = Doubt(key, one, None)
        elif known.get("digest") != one.digest:
            old = known.get("definition")
            found[one.name] = Doubt(key, one, Definition(**old) if isinstance(old, Mapping) else Definition(one.name))
    return found


def _pin(definition: Definition) -> Json:
    fields = definition.fields()
    size = len(json.dumps(fields, ensure_ascii=False))
    return {"digest": definition.digest, **({"definition": fields} if size <= _MOST else {})}


def _text(definition: Definition) -> str:
    """A definition as lines that can be compared."""
    fields = definition.fields()
    return json.dumps(fields, indent=1, ensure_ascii=False, sort_keys=True).replace("\\n", "\n ")
