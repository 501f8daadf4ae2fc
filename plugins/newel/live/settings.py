"""Settings of live sessions."""

from __future__ import annotations

from pydantic import BaseModel, Field

MIB = 1 << 20


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Bounds and choices of live sessions."""

    #: How much of the model's answer is read ahead of the consumer: bytes of audio, and responses.
    read_ahead_bytes: int = Field(default=MIB, ge=1)
    #: The most responses that are read before they are asked for.
    read_ahead_responses: int = Field(default=1024, ge=1)
    #: Audio that was read ahead when the user interrupts is dropped, and not played.
    drop_at_interruption: bool = False
    #: How much audio waits in the queue for a connection, in bytes; the oldest goes first. 0: any amount.
    queue_bytes: int = Field(default=0, ge=0)
    #: The largest single piece of audio, or image, in bytes.
    blob_bytes: int = Field(default=16 * MIB, ge=1)
    #: A content with function calls ends the run; else it is refused, and the session goes on.
    strict_content: bool = True
    #: How long a service may be silent while an answer is due, in seconds; 0: for ever.
    silence_seconds: float = Field(default=30.0, ge=0)
    #: How often a lost connection is opened again, and the pause before the first attempt, in seconds; it doubles.
    reconnects: int = Field(default=5, ge=0)
    #: Seconds before the first try to connect again; each later one waits twice as long.
    reconnect_seconds: float = Field(default=0.1, ge=0)
    #: How much input that the service may not have taken is kept to be sent again, in bytes.
    unconfirmed_bytes: int = Field(default=MIB, ge=0)
    #: How long tools that are told to end may take, in seconds.
    tool_seconds: float = Field(default=1.0, ge=0)
    #: RunConfig's `custom_metadata` stands on what the user typed, too.
    metadata_on_user_events: bool = False
    #: `after_run` callbacks run where the consumer has left, too.
    after_run_on_leaving: bool = False
    #: Sum up transcriptions of which a connection gives pieces only.
    sum_transcriptions: bool = False
    #: A streaming tool that fails is an event of the session, too: `TOOL_FAILED`.
    record_tool_failures: bool = False
    #: How much audio of a turn is kept for an artifact, in bytes: then it is written, and a further one begun.
    saved_bytes: int = Field(default=10 * MIB, ge=1)
    #: Write audio that is saved as WAV files, which every player knows, and not as it was sent.
    save_wav: bool = False
