import asyncio
from newel.tools.base_tool import BaseTool
from newel.agents.live_request_queue import LiveRequestQueue
from newel.tools.tool_context import ToolContext
from newel import types

class EchoStreamingTool(BaseTool):
    """Echoes audio back to the model with a 100 ms delay."""

    def __init__(self):
        super().__init__(name="echo_audio", description="Echo audio with delay.")

    async def run_live(
        self,
        *,
        tool_context: ToolContext,
        stream: LiveRequestQueue,
    ):
        while True:
            request = await stream.get()
            if request is None:
                break  # stream closed
            await asyncio.sleep(0.1)
            # Send the blob back into the live session
            tool_context.send_audio(request.realtime_input.media_chunks[0])
