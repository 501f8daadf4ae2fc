"""The errors of the rooms for MCP; below `NewelError`.

McpError                 an MCP server, or a connection to one, does not do what it must
├── McpUnreachableError  no session: the server does not start, does not answer, or refuses
│   └── McpUnauthorizedError  it wants a credential, or one that covers more (carries the challenge)
├── McpLostError         the session ended under a request (says whether the server may have acted on it)
├── McpTimeoutError      no answer within the time limits
└── McpRefusedError      the server answers with an error, or with something else than an answer
"""

from __future__ import annotations

from newel_kernel import NewelError


class McpError(NewelError):
    """An MCP server, or a connection to one, does not do what it must."""


class McpUnreachableError(McpError, ConnectionError):
    """There is no session with the server; the message names it, and says why and what to do."""


class McpUnauthorizedError(McpUnreachableError):
    """The server wants a credential, or one that covers more. `challenge` is its header WWW-Authenticate."""

    def __init__(self, message: str, challenge: str = "") -> None:
        super().__init__(message)
        self.challenge = challenge


def is_short_of_scopes(challenge: str) -> bool:
    """Whether a challenge says that the credential is good, but does not cover what was asked for (RFC 6750)."""
    return 'error="insufficient_scope"' in challenge


class McpLostError(McpError, ConnectionError):
    """The session ended under a request. `acted`: whether the server may have acted on it."""

    def __init__(self, message: str, *, acted: bool) -> None:
        super().__init__(message)
        self.acted = acted


class McpTimeoutError(McpError, TimeoutError):
    """The server did not answer in time."""


class McpRefusedError(McpError):
    """The server answered with an error, or with something else than a valid answer."""
