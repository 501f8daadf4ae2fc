"""An agent that is spoken with: it hears some sound, then answers with sound and words."""

from __future__ import annotations

import math
import struct

from newel import Agent
from newel.testing import TURN_COMPLETE, ScriptedLiveModel, WaitFor
from newel.types import Blob, Content, Part, Transcription
from newel_kernel import LlmResponse

RATE = 24_000


def tone(seconds: float) -> Blob:
    """A tone, as services send speech: 16 bits a sample, 24 kHz."""
    samples = (int(9_000 * math.sin(2 * math.pi * 440 * n / RATE)) for n in range(int(RATE * seconds)))
    return Blob(data=b"".join(struct.pack("<h", one) for one in samples), mime_type=f"audio/pcm;rate={RATE}")


TONE = tone(0.3)


def script() -> list[object]:
    """What a connection plays: three pieces of sound are heard, then it answers."""
    heard = Transcription(text="Is anybody there?", finished=True)
    said = Transcription(text="I hear you well.", finished=True)
    return [
        WaitFor("blob", 3),
        LlmResponse(input_transcription=heard),
        TONE,
        TONE,
        LlmResponse(output_transcription=said),
        LlmResponse(content=Content(role="model", parts=[Part(text="I hear you well.")])),
        TURN_COMPLETE,
    ]


root_agent = Agent(
    name="voice_line",
    description="A line that one speaks with.",
    model=ScriptedLiveModel(*(script() for _ in range(100))),
    instruction="You are on the phone.",
)
