"""Disconnects: why a live connection ended or never began: a loss, a refusal, a failure to connect."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from newel.models.live import ConnectionLostError
from newel.models.wire.secrets import header_secrets, mask
from newel.models.wire.service import Service, chain_of, is_sign_in, message_of
from newel_kernel import LlmResponse, ModelError, NewelError

#: The close code if no close frame came.
_ABNORMAL = 1006
#: Close codes by which a service says that it does not accept something; to continue or try again does not help.
_REFUSALS = {
    1002: "it reported a violation of the WebSocket protocol",
    1003: "it does not take this kind of data",
    1007: "it refused what was sent: see the settings of the live session and the last input",
    1008: "check the API key, the model's name, and the handle of the session to resume",
    1010: "it requires an extension of the protocol",
}
#: Codes from here on are the service's own.
_OWN = 4000
_OWN_REMEDY = "see the service's documentation of this code"
#: How the google-genai SDK says that a message is not JSON.
_UNREADABLE = "Failed to parse response"


def live_failure(service: Service, number: int, code: str, what: str, remedy: str) -> LlmResponse:
    """A failure of connection `number` as a response, without a secret."""
    text = f"{service.who} {mask(what, service.secrets)[:1_000]} (connection {number}); {remedy}"
    return LlmResponse(error_code=code, error_message=text)


def lost(service: Service, number: int, code: int, reason: str) -> ConnectionLostError:
    """The loss of connection `number`, without a secret."""
    why = f" ({mask(reason, service.secrets)[:200]})" if reason else ""
    text = f"the live connection {number} to {service.who} was lost with code {code}{why}"
    remedy = "run again, or ask for session resumption if the service has it"
    return ConnectionLostError(f"{text}; {remedy}", code)


def signed(service: Service, sockets: Iterable[Any]) -> Service:
    """`service` with the credentials that an SDK got by itself and sent in the handshakes of `sockets`."""
    requests = [request for one in sockets if (request := one.request) is not None]
    headers = [value for request in requests for value in request.headers.get_all("Authorization")]
    secrets = [secret for value in headers for secret in header_secrets({"authorization": value})]
    return replace(service, secrets=(*service.secrets, *secrets))


@contextmanager
def connecting(service: Service, number: int, sockets: Iterable[Any] = ()) -> Iterator[None]:
    """Raise any error of an SDK while it connects as a ModelError, or as a ConnectionLostError if it may be retried.

    The libraries' errors can hold the key in their request, and are dropped. `sockets` are those opened meanwhile.
    """
    try:
        yield
    except (NewelError, ConnectionLostError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever an SDK raises
        raise _connect_error(signed(service, sockets), number, error) from None


def _connect_error(service: Service, number: int, error: Exception) -> Exception:
    for one in chain_of(error):
        response = getattr(one, "response", None)
        status = getattr(response, "status_code", None)
        if isinstance(status, int):
            return _refused_status(service, number, status, getattr(response, "body", None) or b"")
        if hasattr(one, "rcvd"):
            return _refused_close(service, number, *end_of(one))
        if isinstance(code := getattr(one, "code", None), int):
            return _refused_close(service, number, code, message_of(one))
    if isinstance(error, ssl.SSLCertVerificationError):
        return service.unreachable(str(error))
    if isinstance(error, OSError):  # a TimeoutError is one
        return ConnectionLostError(str(service.unreachable(str(error) or "no connection in time")))
    unreadable = isinstance(error, json.JSONDecodeError) or str(error).startswith(_UNREADABLE)
    if isinstance(error, ValueError) and not unreadable and not is_sign_in(error):
        return service.failed("UNSUPPORTED", str(error))
    return service.error_of(error)


def _refused_status(service: Service, number: int, status: int, body: bytes) -> Exception:
    """The error of a handshake that was answered with a status of HTTP."""
    refused = service.refused(status, " ".join(body.decode("utf-8", "replace").split()))
    return ConnectionLostError(f"connection {number}: {refused}") if refused.retryable else refused


def _refused_close(service: Service, number: int, code: int, reason: str) -> Exception:
    """The error of a connection that was closed while it was set up."""
    remedy = refusal_remedy(code)
    if remedy is None:
        return lost(service, number, code, reason)
    why = mask(reason, service.secrets)[:1_000] or "no reason given"
    text = f"{service.who} refused the connection {number} with {code}: {why}; {remedy}"
    return ModelError(text, code=code, provider=service.provider, model=service.model, remedy=remedy)


def refusal_remedy(code: int) -> str | None:
    """What to do if a close with `code` is a refusal; None if it means that the connection was lost."""
    return _REFUSALS.get(code, _OWN_REMEDY if code >= _OWN else None)


def end_of(error: Any) -> tuple[int, str]:
    """Code and reason of a ConnectionClosed, as the service gave them."""
    if error.rcvd is None:
        return _ABNORMAL, "" if error.sent is None else error.sent.reason
    return error.rcvd.code, error.rcvd.reason
