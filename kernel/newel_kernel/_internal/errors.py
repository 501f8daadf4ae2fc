"""The error tree. A message says what happened, who caused it, where, and what to do.

NewelError
├── ConfigurationError            a distribution, a YAML file or an argument is wrong
│   ├── CompositionError          the plugins do not fit together (carries every problem found)
│   │   └── LockError             the composition differs from its lock file
│   ├── AgentConfigError          an agent file is wrong (carries file and line)
│   ├── ServiceMissingError       the runner has no such service
│   └── DuplicateToolError        two tools of an agent have one name (carries both)
├── PluginError                   a plugin misbehaved (carries its name and distribution)
│   ├── PluginLoadError           it could not be imported
│   ├── PluginHookError           its hook raised (the cause is chained)
│   └── HookSignatureError        a hook or a callback has the wrong signature or result
├── ModelError                    no model, an unknown address, a missing SDK or key, a service that fails
│   └── LlmCallsLimitExceededError  RunConfig.max_llm_calls was reached
├── FeatureUnavailableError       asked for something that no installed plugin provides
│   └── ServiceMissingError       the same as above
├── ToolAbortedError              a tool raised SystemExit, KeyboardInterrupt or a stray CancelledError
└── SessionError                  a session cannot be read or written
    ├── SessionNotFoundError      there is no such session
    ├── AlreadyExistsError        a session (or in the session an event) of that id exists
    ├── StaleSessionError         the session moved on: reload the tail and retry
    ├── FencedError               another worker took the session over: stop
    └── PairingError              a tool result without its call

A subpackage of `newel` may define its own errors below these, next to the code that raises them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

#: Characters that break a line, write backwards or show nothing: in a text of somebody else they forge output.
_FORGING = re.compile(
    "[\\x00-\\x1f\\x7f-\\x9f\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff]"
)


class NewelError(Exception):
    """The base of every error that newel raises itself."""


class ConfigurationError(NewelError, ValueError):
    """A setting, a file or an argument is wrong."""


class CompositionError(ConfigurationError):
    """The plugins do not compose. `problems` lists every problem found, each as a sentence."""

    def __init__(self, problems: str | Iterable[str]) -> None:
        self.problems = (problems,) if isinstance(problems, str) else tuple(problems)
        super().__init__("\n".join(self.problems))


class LockError(CompositionError):
    """The installed plugins differ from the lock file."""


class AgentConfigError(ConfigurationError):
    """An agent file is wrong; the message starts with ``file:line``."""


class DuplicateToolError(ConfigurationError):
    """Two tools of a request have the same name; `tools` holds both."""

    def __init__(self, message: str, tools: tuple[Any, Any]) -> None:
        self.tools = tools
        super().__init__(message)


class PluginError(NewelError):
    """A plugin misbehaved."""


class PluginLoadError(PluginError):
    """A plugin could not be imported; the cause is chained."""


class PluginHookError(PluginError, RuntimeError):
    """A plugin's hook raised; the message names the plugin and the hook, the cause is chained."""


class HookSignatureError(PluginError, TypeError):
    """A hook or callback takes other arguments than its specification, or returned something it must not."""


class ModelError(NewelError):
    """A model cannot be used, or its service failed. An SDK's exception is only its `__cause__`."""

    def __init__(
        self,
        message: str,
        *,
        code: int | str | None = None,
        provider: str = "",
        model: str = "",
        request_id: str | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        remedy: str = "",
    ) -> None:
        super().__init__(message)
        #: The HTTP status (an int), or an error name (a str), the service's or ours.
        self.code = code
        self.provider = provider
        self.model = model
        #: The service's id for the request, to quote to its support.
        self.request_id = request_id
        #: Whether the same request may succeed later, and after how many seconds, if the service says so.
        self.retryable = retryable
        self.retry_after = retry_after
        #: What to do about it; the message says it too.
        self.remedy = remedy
        #: The name of the agent whose call failed, once it is known.
        self.agent = ""


class LlmCallsLimitExceededError(ModelError):
    """The invocation asked for more model calls than RunConfig.max_llm_calls allows."""


class FeatureUnavailableError(NewelError, NotImplementedError):
    """No composed plugin provides what was asked for; the message names the remedy."""


class ServiceMissingError(ConfigurationError, FeatureUnavailableError):
    """The runner was given no service of this kind, and its distribution names none."""


class ToolAbortedError(NewelError, RuntimeError):
    """A tool raised an error that would have ended the process, or a CancelledError without a cancellation."""


class SessionError(NewelError):
    """A session cannot be read or written."""


class SessionNotFoundError(SessionError, ValueError):
    """The session does not exist."""


class AlreadyExistsError(SessionError):
    """A session of that id exists; or, in the session, an event of that id."""


class StaleSessionError(SessionError, ValueError):
    """The stored session has events that this view has not seen: reload the tail and retry."""

    #: The event that was refused, if a store says so.
    event: object = None


class FencedError(SessionError):
    """Another worker holds the session's lease: stop."""


class PairingError(SessionError):
    """A tool result answers no call of the session."""


def brief(text: str) -> str:
    """`text`, shortened for an error message: its beginning and its length if it is longer than 200 characters."""
    return text if len(text) <= 200 else f"{text[:100]}... ({len(text)} characters)"


def plain(value: object, most: int | None = None) -> str:
    """The text of somebody else's `value` on one line: what would forge output is shown as an escape.

    A text that cannot be had, because `__str__` raises, says so. A longer one than `most` characters is cut.
    """
    text = _message(value)
    text = text if most is None or len(text) <= most else f"{text[:most]}... ({len(text)} characters)"
    return _FORGING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _message(value: object) -> str:
    try:
        return str.__str__(str(value))
    except BaseException as error:  # noqa: BLE001 - SystemExit, too
        return f"its text is not available ({class_name(error)})"


def class_name(value: object) -> str:
    """The name of the class of `value`, whatever that class does when it is asked."""
    return str(type.__dict__["__name__"].__get__(type(value)))


def error_text(error: BaseException) -> str:
    """``ValueError: boom``: the type and the message of somebody else's error, on one line of some 600 characters."""
    message = plain(" ".join(_message(error).split()), 600)
    return f"{class_name(error)}: {message}" if message else class_name(error)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """``"; did you mean 'x'?"`` if a known name is close, else an empty string."""
    close = get_close_matches(name, names)
    return f"; did you mean {close[0]!r}?" if close else ""
