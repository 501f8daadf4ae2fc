"""ActiveStreamingTool: a streaming tool that runs during a live turn."""

from __future__ import annotations

import asyncio

from pydantic import BaseModel, ConfigDict

from newel.agents.live_request_queue import LiveRequestQueue


class ActiveStreamingTool(BaseModel):
    """The task that runs the tool, and the stream of the user's input meanwhile."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    task: asyncio.Task[object] | None = None
    stream: LiveRequestQueue | None = None
