"""The settings of the plugin `mcp`, and how code in an invocation finds them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from newel_kernel import ReadonlyContext


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of the client of MCP servers."""

    #: Seconds after which a session that nobody uses ends.
    idle_seconds: float = Field(default=300.0, gt=0)
    #: The most sessions of one toolset; beyond them the one that was unused for the longest time ends.
    max_sessions: int = Field(default=64, ge=1)
    #: The most seconds of a call, whatever progress the server reports. A connection that allows more decides.
    max_seconds: float = Field(default=600.0, gt=0)
    #: The most bytes of one message of a server.
    max_message_bytes: int = Field(default=16_777_216, ge=65_536)
    #: ``auto``: the protocol of 2026-07-28 wherever the server speaks it, else a handshake as of 2025-11-25 and before.
    #: ``handshake``: the other way round. Null: ``auto`` with a process, whose end is the end of its session in any
    #: case, and ``handshake`` over HTTP, whose sessions are ended when they are not used any more, and with callbacks
    #: for questions and samplings, which most servers can call in that era only.
    protocol: Literal["handshake", "auto"] | None = None
    #: Servers by name, each with the arguments of a toolset in an agent file (such as ``stdio_server_params``). Agent
    #: files and `newel mcp` name them; other commands than these an agent file may not start.
    servers: dict[str, dict[str, Any]] = {}
    #: ``trust``: the first definition of a tool is pinned unasked, and a change is asked about; ``ask``: the user is
    #: asked before the first call, too; ``unchecked``: nothing is pinned, as in the recorded releases.
    definitions: Literal["trust", "ask", "unchecked"] = "trust"
    #: The model gets the server's whole result, as in the recorded releases, rather than its structured content alone.
    whole_results: bool = False


DEFAULT = Settings.model_construct()  # skips validation, which would build a validator for no values


def settings_of(context: ReadonlyContext | None) -> Settings:
    """The settings in the distribution of a context; the defaults if the plugin is not enabled."""
    if context is None:
        return DEFAULT
    own = context._invocation_context.composition.settings.get("mcp")
    return own if isinstance(own, Settings) else DEFAULT
