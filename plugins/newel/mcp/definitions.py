"""Definitions: what a server says of its tools, in a list."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from newel_kernel import Effect, Json


@dataclass(frozen=True)
class Definition:
    """One tool as its server defines it. The texts are the server's own: they are cleaned where they are shown."""

    name: str
    description: str = ""
    title: str = ""
    input_schema: Json = field(default_factory=dict)
    output_schema: Json | None = None
    annotations: Json = field(default_factory=dict)
    meta: Json = field(default_factory=dict)

    @classmethod
    def of(cls, tool: Mapping[str, Any]) -> Definition:
        """A definition from the JSON of a list."""
        return cls(
            name=str(tool["name"]),
            description=str(tool.get("description") or ""),
            title=str(tool.get("title") or ""),
            input_schema=dict(tool.get("inputSchema") or {}),
            output_schema=tool.get("outputSchema"),
            annotations=dict(tool.get("annotations") or {}),
            meta=dict(tool.get("_meta") or {}),
        )

    @property
    def hinted_effect(self) -> Effect:
        """What the server says about repeating a call; to be believed only if the server is trusted."""
        if self.annotations.get("readOnlyHint") is True:
            return Effect.PURE
        return Effect.IDEMPOTENT if self.annotations.get("idempotentHint") is True else Effect.AT_MOST_ONCE

    def fields(self) -> Json:
        """All that the server says about the tool."""
        return {
            "name": self.name,
            "description": self.description,
            "title": self.title,
            "input_schema": self.input_schema,
            "output_schema": self.output_schema,
            "annotations": self.annotations,
        }

    @cached_property
    def digest(self) -> str:
        """A hash of all that the server says about the tool: 64 hexadecimal digits."""
        return hashlib.sha256(json.dumps(self.fields(), sort_keys=True).encode()).hexdigest()
