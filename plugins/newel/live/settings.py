"""Settings of live sessions."""

from __future__ import annotations

from pydantic import BaseModel, Field

MIB = 1 << 20


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Bounds and choices of live sessions."""

    #: The most bytes of the model's audio that are read ahead of the consumer.
    read_ahead_bytes: int = Field(default=MIB, ge=1)
    #: The most responses that are read ahead of the consumer.
    read_ahead_responses: int = Field(default=1024, ge=1)
    #: Drop audio that was read ahead when the user interrupts, instead of playing it.
    drop_at_interruption: bool = False
    #: How much audio waits in the queue for a connection, in bytes; the oldest is dropped first. 0: any amount.
    queue_bytes: int = Field(default=0, ge=0)
    #: The largest single piece of audio, or image, in bytes.
    blob_bytes: int = Field(default=16 * MIB, ge=1)
    #: Whether a content with function calls ends the run; if not, it is refused, and the session continues.
    strict_content: bool = True
    #: How long a service may be silent while an answer is due, in seconds; 0: forever.
    silence_seconds: float = Field(default=30.0, ge=0)
    #: How often a lost connection is opened again.
    reconnects: int = Field(default=5, ge=0)
    #: Seconds before the first try to connect again; each later one waits twice as long.
    reconnect_seconds: float = Field(default=0.1, ge=0)
    #: How much input that the service may not have taken is kept to be sent again, in bytes.
    unconfirmed_bytes: int = Field(default=MIB, ge=0)
    #: How long tools may take to end when they are cancelled, in seconds.
    tool_seconds: float = Field(default=1.0, ge=0)
    #: Put RunConfig's `custom_metadata` on the events of what the user typed, too.
    metadata_on_user_events: bool = False
    #: Run `after_run` callbacks even if the consumer has left.
    after_run_on_leaving: bool = False
    #: Join transcriptions that a connection gives only in pieces.
    sum_transcriptions: bool = False
    #: Store the failure of a streaming tool as an event of the session, too: `TOOL_FAILED`.
    record_tool_failures: bool = False
    #: How much audio of a turn is kept for an artifact, in bytes: beyond that it is written, and another one begun.
    saved_bytes: int = Field(default=10 * MIB, ge=1)
    #: Write saved audio as WAV files, which every player knows, instead of as it was sent.
    save_wav: bool = False
