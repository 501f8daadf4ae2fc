"""The contract of a session store."""

from newel_kernel import BaseSessionService, GetSessionConfig, ListSessionsResponse

__all__ = ["BaseSessionService", "GetSessionConfig", "ListSessionsResponse"]
