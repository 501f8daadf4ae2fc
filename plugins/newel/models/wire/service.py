"""Service: the service that answers a model's requests, and its errors, one for each way to fail."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Protocol, runtime_checkable

from newel.models.wire.secrets import mask, without_secrets
from newel_kernel import ModelError, NewelError, seam

#: The code of a failure before an answer came.
UNREACHABLE = "CONNECTION_ERROR"
#: Statuses after which the same request may succeed.
RETRYABLE = frozenset((429, 500, 502, 503, 504, 529))
#: What to do, by status.
_REMEDIES = {
    401: "check the API key",
    403: "check what the API key may do",
    404: "check the model's name and the base URL",
    413: "send less: fewer or smaller files, a shorter history",
    **dict.fromkeys((301, 302, 303, 307, 308), "no redirect is followed: check the base URL"),
    429: "try again later, or raise the limit of the account",
}
_LATER = "try again later"
#: What OpenAI, and services like it, call an account without credit; its status is that of one with too many requests.
_SPENT = "insufficient_quota"
_SIGN_IN = "run 'gcloud auth application-default login', or set GOOGLE_APPLICATION_CREDENTIALS to a key file"
#: Headers that name a request, as services spell them.
_REQUEST_IDS = ("request-id", "x-request-id", "x-goog-request-id", "x-amzn-requestid", "cf-ray")
_MOST = 1_000


#: Exceptions after which nothing was sent, by name, as HTTP libraries and the system call them.
_CONNECTING = ("ConnectError", "ConnectTimeout", "ProxyError", "ClientConnectorError")
_NEVER_SENT = frozenset((*_CONNECTING, "ConnectionRefusedError", "gaierror", "SSLCertVerificationError"))


class NotConnectedError(ModelError):
    """No connection came about, so that nothing was sent."""


@runtime_checkable
class _Response(Protocol):
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Service:
    """The provider and the model that a request goes to. `secrets` are in no error that leaves `translated`."""

    provider: str
    model: str
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def refused(
        self, status: int, message: str, headers: Mapping[str, str] | None = None, details: object = None
    ) -> ModelError:
        """An answer with a status other than 200. `message` is the service's own, out of `details`."""
        headers = headers or {}
        spent = status == 429 and (_SPENT in message or _SPENT in str(details))
        remedy = _REMEDIES.get(status, _LATER if status in RETRYABLE else "")
        if spent:
            remedy = "the account has no credit left: add some, or use another key"
        return self._error(
            f"{self.who} answered {status}: {mask(message, self.secrets)[:_MOST] or 'no message'}",
            status,
            remedy=remedy,
            retryable=status in RETRYABLE and not spent,
            retry_after=retry_after(headers),
            request_id=next((headers[name] for name in _REQUEST_IDS if headers.get(name)), None),
        )

    def failed(self, code: str, message: str, *, retryable: bool = False, request_id: str | None = None) -> ModelError:
        """A failure that the service reports in an answer of status 200: an error event, a failed response."""
        message = mask(message, self.secrets)[:_MOST]
        remedy = _LATER if retryable else ""
        return self._error(
            f"{self.who} failed: {message or code}", code, remedy=remedy, retryable=retryable, request_id=request_id
        )

    def unreachable(self, reason: str, kind: type[ModelError] = ModelError) -> ModelError:
        """No connection, or one that broke before an answer came."""
        return self._error(
            f"{self.who} could not be reached: {mask(reason, self.secrets)[:_MOST]}",
            UNREACHABLE,
            remedy="check the network, the proxy and the base URL",
            retryable=True,
            kind=kind,
        )

    def unconnected(self, reason: str) -> ModelError:
        """No connection."""
        return self.unreachable(reason, NotConnectedError)

    def unsigned(self, reason: str) -> ModelError:
        """No token of Google Cloud: nothing was sent to the service."""
        return self._error(
            f"{self.who} needs a sign-in to Google Cloud: {mask(reason, self.secrets)[:_MOST]}",
            "UNAUTHENTICATED",
            remedy=_SIGN_IN,
        )

    def too_slow(self, what: str) -> ModelError:
        """A timeout; `what` took too long."""
        return self._error(
            f"{self.who} was too slow: {what}", "TIMEOUT", remedy="raise http_options.timeout (milliseconds)"
        )

    def too_large(self, most: int) -> ModelError:
        """An answer of more than `most` bytes."""
        return self.failed("RESPONSE_TOO_LARGE", f"the answer is larger than {most:,} bytes")

    def cut_short(self, what: str = "the stream ended without its end marker") -> ModelError:
        """A stream that broke off; the part that it had sent is not an answer."""
        return self._error(f"{self.who} broke off: {what}", "INCOMPLETE_STREAM", remedy=_LATER, retryable=True)

    def malformed(self, what: str) -> ModelError:
        """An answer that is none of this protocol: HTML, broken JSON, another shape."""
        return self._error(
            f"{self.who} sent no valid answer: {mask(what, self.secrets)[:_MOST]}",
            "MALFORMED_RESPONSE",
            remedy="check the base URL, and any proxy in between",
        )

    def unsayable(self, what: str) -> ModelError:
        """A request that the protocol cannot carry; `what` names the kind."""
        return self._error(f"{self.who} takes no {what}", "UNSUPPORTED", remedy="leave it out, or use another model")

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Raise any error of an SDK or an HTTP library as a ModelError, with that error as its cause."""
        try:
            yield
        except NewelError:
            raise
        except Exception as error:
            ours = _carried(error) or self.error_of(error)
            without_secrets(error, self.secrets)
            raise ours from error

    @contextmanager
    def answering(self) -> Iterator[None]:
        """As `translated`, but while an answer is read: a broken connection cuts it short. Costly around each event."""
        try:
            with self.translated():
                yield
        except ModelError as error:
            if error.code == UNREACHABLE:
                raise self.cut_short("the connection broke within the answer") from error.__cause__
            raise

    def error_of(self, error: BaseException) -> ModelError:
        """The ModelError for an SDK's error. The SDKs of all four protocols agree on the names looked at here."""
        chain = list(chain_of(error))
        for one in chain:
            status = getattr(one, "status_code", None) or getattr(one, "code", None)
            response = getattr(one, "response", None)
            if isinstance(status, int) and 300 <= status < 600 and not _is_connection(one):
                headers = response.headers if isinstance(response, _Response) else {}
                headers = getattr(one, "litellm_response_headers", None) or headers  # its `response` is made up
                return self.refused(status, message_of(one), headers, getattr(one, "body", None))
        if any("ConnectTimeout" in type(one).__name__ for one in chain):
            return self.unconnected("no connection in time")
        if any(isinstance(one, TimeoutError) or "Timeout" in type(one).__name__ for one in chain):
            return self.too_slow(_words(chain))
        if any(_names(one) & _NEVER_SENT for one in chain):
            return self.unconnected(_words(chain))
        if any(_is_connection(one) for one in chain):
            return self.unreachable(_words(chain))
        if any(is_sign_in(one) for one in chain):
            return self.unsigned(_words(chain))
        return self.malformed(_words(chain))

    @property
    def who(self) -> str:
        """Provider and model, for messages."""
        return f"{self.provider} ({self.model})"

    def _error(
        self,
        message: str,
        code: int | str,
        *,
        remedy: str = "",
        retryable: bool = False,
        retry_after: float | None = None,
        request_id: str | None = None,
        kind: type[ModelError] = ModelError,
    ) -> ModelError:
        if remedy:
            message = f"{message}; {remedy}"
        if request_id:
            message = f"{message} (request {request_id})"
        return kind(
            message,
            code=code,
            provider=self.provider,
            model=self.model,
            request_id=request_id,
            retryable=retryable,
            retry_after=retry_after,
            remedy=remedy,
        )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that a service asks to wait, from ``retry-after-ms`` or ``retry-after`` (seconds or a date)."""
    milliseconds, value = headers.get("retry-after-ms"), headers.get("retry-after")
    try:
        if milliseconds:
            return max(0.0, float(milliseconds) / 1000)
        return max(0.0, float(value)) if value else None
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value or "").timestamp() - seam.clock())
    except ValueError:
        return None


def message_of(error: BaseException) -> str:
    """The service's message in the body of an error, else the exception's text."""
    body = getattr(error, "body", None) or getattr(error, "details", None)
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except ValueError:
            return _line(body)
    while isinstance(body, dict):
        message = body.get("message")
        if isinstance(message, str) and message:
            return _line(message)
        body = body.get("error") or body.get("detail")
    return _line(body if isinstance(body, str) else getattr(error, "message", None) or str(error))


def _line(text: object) -> str:
    """The text on one line; a page of HTML is not quoted."""
    words = " ".join(str(text).split())
    return "a page of HTML" if words[:200].lower().lstrip().startswith(("<!doctype", "<html")) else words


def chain_of(error: BaseException | None) -> Iterator[BaseException]:
    """An exception, and the exceptions that it came from."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _carried(error: BaseException) -> ModelError | None:
    """A ModelError of ours (such as the transport's) that an SDK has wrapped."""
    return next((one for one in chain_of(error) if isinstance(one, ModelError)), None)


def _is_connection(error: BaseException) -> bool:
    """Whether an exception means that the connection failed; litellm's exceptions have made-up statuses."""
    return isinstance(error, OSError) or bool(
        _names(error) & {"TransportError", "APIConnectionError", "ClientConnectionError"}
    )


def _names(error: BaseException) -> set[str]:
    """The names of an exception's class and of those that it is derived from."""
    return {kind.__name__ for kind in type(error).__mro__}


def is_sign_in(error: BaseException) -> bool:
    """Whether an exception is one of google-auth, with which an SDK signs in."""
    return any(kind.__name__ == "GoogleAuthError" for kind in type(error).__mro__)


def _words(chain: list[BaseException]) -> str:
    """The text of the innermost exception that has one."""
    lines = (_line(text) for one in reversed(chain) if isinstance(one, Exception) and (text := str(one)))
    return next(lines, type(chain[0]).__name__)
