"""Stash keys: the values that several packages read in the stash of an invocation. None of them is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping
from typing import TYPE_CHECKING, Any, Protocol

from newel_kernel import Key

if TYPE_CHECKING:
    from newel.contexts.tool_input import Answered, Asking
    from newel_kernel import Event, ToolConfirmation
    from newel_types import AuthConfig, AuthCredential


class Mask(Protocol):
    """Knows the secrets that an invocation has handed out. It masks them in what code returns, writes and raises."""

    def add(self, texts: Iterable[str]) -> None:
        """Add further texts."""

    def add_pair(self, user: str, password: str) -> None:
        """Add the form in which basic authentication sends the two."""

    def mask(self, value: object) -> Any:
        """`value` with every secret in it masked; the same object if it holds none."""

    def mask_event(self, event: Event, state: MutableMapping[str, object]) -> None:
        """Mask what an event holds, and the `state` it was written to."""

    def mask_error(self, error: Exception) -> Exception:
        """`error` with the secrets masked, or another error instead."""


#: The secrets that the invocation has handed out, once there are any.
SECRETS: Key[Mask] = Key("secrets")
#: Call id -> the full config that a tool's call asks for.
CONFIGS: Key[dict[str, AuthConfig]] = Key("configs of requests", dict)
#: Credential key -> the credential that tools of the invocation use.
CREDENTIALS: Key[dict[str, AuthCredential]] = Key("credentials", dict)
#: Call id -> the user's answer to its request for confirmation, while the call runs again.
CONFIRMATIONS: Key[dict[str | None, ToolConfirmation]] = Key("confirmations", dict)
#: Call id -> what the user was asked for the call before, and its answer, while the call runs again.
ANSWERED: Key[dict[str | None, Answered]] = Key("answered calls", dict)
#: Call id -> what the call that runs asks for, and what it keeps until the answer.
ASKING: Key[dict[str, Asking]] = Key("asking calls", dict)
#: Set while a message is taken in for a run that another task or process has.
AMID: Key[bool] = Key("amid a run")
#: Whether a run that is cancelled only leaves this process: another worker resumes it, so its open calls stay open.
MOVES: Key[Callable[[], bool]] = Key("moves to another worker")
