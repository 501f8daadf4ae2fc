"""Services: one error for each way to fail, without the key."""

from __future__ import annotations

import pickle
import socket
import traceback

import httpx2
import pytest

from newel.models.wire.service import NotConnectedError, Service, retry_after
from newel_kernel import ConfigurationError, ModelError, seam

KEY = "sk-SECRET"
SERVICE = Service("parrot", "polly", (KEY,))


def _status_error(status: int, body: str, **headers: str) -> httpx2.HTTPStatusError:
    request = httpx2.Request("POST", "https://parrot.test/", headers={"authorization": f"Bearer {KEY}"})
    response = httpx2.Response(status, headers=headers, content=body.encode(), request=request)
    error = httpx2.HTTPStatusError(body, request=request, response=response)
    error.status_code, error.body = status, body  # as the SDKs have it
    return error


def _caught(error: Exception) -> ModelError:
    with pytest.raises(ModelError) as caught, SERVICE.translated():
        raise error
    return caught.value


def test_a_status_is_an_error_with_all_that_the_service_said() -> None:
    headers = {"retry-after": "3", "request-id": "req_7"}
    error = _caught(_status_error(429, '{"error": {"message": "slow down"}}', **headers))
    assert (error.code, error.provider, error.model, error.request_id) == (429, "parrot", "polly", "req_7")
    assert (error.retryable, error.retry_after) == (True, 3.0)
    assert "parrot (polly) answered 429: slow down; try again later" in str(error)
    assert isinstance(error.__cause__, httpx2.HTTPStatusError)


@pytest.mark.parametrize(
    ("status", "retryable"), [(400, False), (401, False), (408, False), (500, True), (502, True), (529, True)]
)
def test_only_some_statuses_are_worth_a_retry(status: int, retryable: bool) -> None:
    assert _caught(_status_error(status, "x")).retryable is retryable


def test_the_key_is_nowhere() -> None:
    error = _caught(_status_error(401, f'{{"error": {{"message": "bad key {KEY}"}}}}'))
    shown = "".join(traceback.format_exception(error)) + repr(error.__cause__.__dict__)
    assert KEY not in shown
    assert KEY not in error.__cause__.response.text
    assert "authorization" not in error.__cause__.response.request.headers
    assert "[api key]" in str(error)
    assert KEY not in repr(SERVICE)


def test_connections_time_outs_and_nonsense_are_told_apart() -> None:
    assert _caught(httpx2.ConnectError("refused")).code == "CONNECTION_ERROR"
    assert _caught(httpx2.ReadTimeout("too long")).code == "TIMEOUT"
    assert _caught(ConnectionResetError("reset")).retryable
    assert _caught(ValueError("Expecting value: line 1")).code == "MALFORMED_RESPONSE"
    assert not _caught(ValueError("Expecting value: line 1")).retryable


@pytest.mark.parametrize(
    ("error", "sent"),
    [
        (httpx2.ConnectError("refused"), False),
        (httpx2.ConnectTimeout("too long"), False),
        (ConnectionRefusedError("refused"), False),
        (socket.gaierror("no such name"), False),
        (httpx2.ReadError("reset"), True),
        (httpx2.RemoteProtocolError("closed without an answer"), True),
        (ConnectionResetError("reset"), True),
    ],
)
def test_a_connection_that_never_was_is_told_from_one_that_broke(error: Exception, sent: bool) -> None:
    wrapper = RuntimeError("Connection error.")
    wrapper.__cause__ = error
    failed = _caught(wrapper)
    assert (failed.code, failed.retryable) == ("CONNECTION_ERROR", True)
    assert isinstance(failed, NotConnectedError) is not sent


def test_an_error_of_ours_passes_even_where_an_sdk_wrapped_it() -> None:
    ours = SERVICE.failed("RESPONSE_TOO_LARGE", "too much")
    wrapper = RuntimeError("Connection error.")
    wrapper.__cause__ = ours
    assert _caught(wrapper) is ours
    with pytest.raises(ConfigurationError), SERVICE.translated():
        raise ConfigurationError("ours")


def test_html_is_not_quoted() -> None:
    assert "a page of HTML" in str(_caught(_status_error(502, "<html><h1>Bad Gateway</h1></html>")))


def test_retry_after_is_seconds_milliseconds_or_a_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seam, "clock", lambda: 1_700_000_000.0)
    assert retry_after({"retry-after": "2.5"}) == 2.5
    assert retry_after({"retry-after-ms": "150", "retry-after": "9"}) == 0.15
    assert retry_after({"retry-after": "Tue, 14 Nov 2023 22:13:30 GMT"}) == 10.0
    assert retry_after({"retry-after": "soon"}) is None
    assert retry_after({}) is None


def test_a_model_error_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(SERVICE.cut_short()))
    assert (error.code, error.retryable, error.provider) == ("INCOMPLETE_STREAM", True, "parrot")
