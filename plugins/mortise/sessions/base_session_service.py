"""The contract of a session store."""

from mortise_kernel.contracts.services import BaseSessionService, GetSessionConfig, ListSessionsResponse

__all__ = ["BaseSessionService", "GetSessionConfig", "ListSessionsResponse"]
