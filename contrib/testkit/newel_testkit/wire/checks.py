"""Checks of one provider: requests, answers, faults, connections."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterator, Mapping
from contextlib import aclosing
from typing import Any

from newel.models import BaseLlm, ModelCapabilities
from newel_kernel import LlmRequest, ModelError
from newel_testkit.wire.answers import LONG, Answer, text
from newel_testkit.wire.bench import WIRE_KEY, Place, capabilities, closed, hello, plain, problems
from newel_testkit.wire.differences import differences, is_no_answer
from newel_testkit.wire.faults import FAULTS, Fault, fault
from newel_testkit.wire.losses import losses
from newel_testkit.wire.requests import WireRequest
from newel_types import Content, FunctionDeclaration, GenerateContentConfig, Part, ThinkingConfig, Tool

_HELLO = Answer(parts=(text("Hello there."),))
#: Losses that need no warning: nothing is lost to the caller.
_QUIET = {"caching", "exact budget", "media in results"}
_NAMES = ("weather", "add", "save", "ping")
_TOOL = {"type": "object", "properties": {"city": {"type": "string"}}}
#: How soon a service must notice that its client has left, in seconds.
_SOON = 0.5
_WAIT = 0.2


def check_request(place: Place, case: WireRequest) -> None:
    """The service accepts the request, and nothing is lost silently."""
    name = place.name(case.level(place.wire.name))
    model = place.model(case.level(place.wire.name))
    request = case.request(place.wire.name, model.model)
    unclaimed = set(_unclaimed(case, capabilities(model, request)))
    before = plain(request)
    outcome = place.run(request, _HELLO, model=model)
    after = plain(request)
    changed = [f"the caller's request is changed: {name}" for name in before if before[name] != after[name]]
    problems(changed, case.name)
    log = place.server.log
    if isinstance(outcome.error, ModelError) and not log and (unclaimed or _names_a_kind(case, outcome.error)):
        return
    refused = [one.refused for one in log if one.refused]
    problems([f"refused: {one}" for one in refused], case.name)
    problems([f"{type(outcome.error).__name__}: {outcome.error}"] if outcome.error else [], case.name)
    excused = place.wire.unsayable(name) | place.bench.unsayable | unclaimed
    lost = list(losses(case, place.wire.reading(log[-1]), place.wire.name))
    texts = [f"lost: {one.text}" for one in lost if one.what not in excused]
    silent = [one for one in lost if one.what in excused - _QUIET]
    if silent and not outcome.warnings:
        texts += [f"left out without a warning: {one.text}" for one in silent]
    problems(texts, case.name)


def _unclaimed(case: WireRequest, capable: ModelCapabilities) -> Iterator[str]:
    """The kinds of losses of a model that does not claim to support what a request wants."""
    config = case.config
    shaped = config.keys() & {"response_schema", "response_json_schema"} or config.get("response_mime_type")
    if shaped and not (capable.output_schema_with_tools if config.get("tools") else capable.output_schema):
        yield from ("schema", "json", "bounds of the answer")
    if config.get("thinking_config") and not capable.thinking:
        yield from ("budget", "effort", "exact budget", "thinking")
    if config.get("tool_config") and not capable.forced_tools:
        yield from ("choice", "choice:tools")
    yield from {"temperature", "top_p", "top_k"} - capable.sampling
    for kind in {"image", "pdf", "audio", "video"} - capable.media:
        if any(_is_kind(medium, kind) for medium in _media(case)):
            yield from (f"media:{'application' if kind == 'pdf' else kind}", f"media:uri:{kind}", "media:uri:image/png")
    if not capable.caching:
        yield "caching"
    if not capable.system and config.get("system_instruction"):
        yield "system"


def _media(case: WireRequest) -> Iterator[str]:
    parts = [part for content in case.contents for part in content["parts"]]
    parts += [inner for part in parts for inner in part.get("function_response", {}).get("parts") or ()]
    for part in parts:
        for medium in ("inline_data", "file_data"):
            if medium in part:
                yield part[medium]["mime_type"]


def _is_kind(mime: str, kind: str) -> bool:
    return mime == "application/pdf" if kind == "pdf" else mime.startswith(f"{kind}/")


def _names_a_kind(case: WireRequest, error: ModelError) -> bool:
    """Whether an error says which media or which call of a request it cannot carry."""
    kinds = {kind for mime in _media(case) for kind in mime.split("/")}
    return any(kind in str(error).lower() for kind in kinds) or "call_" in str(error)


def check_answer(place: Place, answer: Answer, *, stream: bool) -> None:
    """An answer is read as it was given; and the service takes its calls back, with results."""
    thinks = any(part.keys() & {"thought", "redacted"} for part in answer.parts)
    level = "thinking" if thinks else "usual"
    model, config = place.model(level), _config(thinks)
    request = hello(model.model, config)
    if thinks and not capabilities(model, request).thinking:
        return
    outcome = place.run(request, answer, stream=stream, model=model)
    refused = [f"refused: {one.refused}" for one in place.server.log if one.refused]
    problems(refused or list(_read(place, answer, outcome, stream)), "streamed" if stream else "whole")
    finals = [one for one in outcome.responses if not one.partial]
    parts = finals[-1].content.parts or [] if finals and finals[-1].content else []
    calls = [part.function_call for part in parts if part.function_call is not None]
    if not calls or answer.raw_args is not None or is_no_answer(answer):
        return
    results = [Part.from_function_response(name=str(one.name), response={"ok": True}) for one in calls]
    for one, part in zip(calls, results, strict=True):
        assert part.function_response is not None
        part.function_response.id = one.id
    again = hello(model.model, config)
    again.contents += [finals[-1].content, Content(role="user", parts=results)]  # type: ignore[list-item]
    back = place.run(again, _HELLO, model=place.model(level))
    problems([f"sent back, it is refused: {one.refused}" for one in place.server.log if one.refused], "history")
    problems([f"sent back: {back.error}"] if back.error else [], "history")


def _read(place: Place, answer: Answer, outcome: Any, stream: bool) -> Iterator[str]:
    yield from differences(answer, outcome.responses, outcome.error, place.wire.name, stream=stream)


def _config(thinks: bool) -> GenerateContentConfig:
    tools = [FunctionDeclaration(name=name, description="A tool.", parameters_json_schema=_TOOL) for name in _NAMES]
    thinking = ThinkingConfig(thinking_budget=2048, include_thoughts=True) if thinks else None
    most = 8000 if thinks else None
    declared = [Tool(function_declarations=tools)]
    return GenerateContentConfig(tools=declared, thinking_config=thinking, max_output_tokens=most)


def check_fault(place: Place, kind: Fault, *, stream: bool) -> None:
    """A lasting fault is one error, none of it is an answer, and the key is shown nowhere."""
    options = {"retry_options": {"attempts": 1}, **({"timeout": 400} if kind.then == "stall" else {})}
    config = GenerateContentConfig.model_validate({"http_options": options})
    failure = fault(kind.name, **({"message": f"the key {WIRE_KEY} is wrong"} if kind.status >= 400 else {}))
    model = place.model()
    outcome = place.run(hello(model.model, config), failure, stream=stream, model=model)
    texts = []
    error = outcome.error
    if not isinstance(error, ModelError):
        texts.append(f"raised {error!r} instead of a ModelError")
    elif kind.passes and not error.retryable:
        texts.append("the error does not say that a retry is worth it")
    elif kind.status >= 400 and (error.code != kind.status or not error.request_id):
        texts.append(f"the error has the code {error.code!r} and the request id {error.request_id!r}")
    if any(not one.partial for one in outcome.responses):
        texts.append("half an answer is final")
    if any(request.path == "/elsewhere" for request in place.server.log):
        texts.append("a redirect was followed")
    if len(place.server.log) > 1:
        texts.append(f"{len(place.server.log)} requests, though one was allowed")
    if outcome.shows(WIRE_KEY):
        texts.append("the key is shown")
    problems(texts, "streamed" if stream else "whole")


def check_recovery(place: Place, kind: Fault) -> None:
    """A passing fault is survived, and the client waits if a service asks it to."""
    failure = fault(kind.name, **({"retry_after": _WAIT} if kind.status >= 400 else {}))
    retries = {"attempts": 3, "initial_delay": 0.001, "max_delay": 0.002}
    config = GenerateContentConfig.model_validate({"http_options": {"retry_options": retries}})
    model = place.model()
    outcome = place.run(hello(model.model, config), failure, _HELLO, model=model)
    problems([f"not recovered from: {outcome.error!r}"] if outcome.error or not outcome.responses else [], "retry")
    times = [request.at for request in place.server.log]
    problems([f"{len(times)} requests instead of 2"] if len(times) != 2 else [], "retry")
    if kind.status >= 400 and times[1] - times[0] < _WAIT:
        problems([f"sent again after {times[1] - times[0]:.3f} s, though {_WAIT} s were asked for"], "retry")


def check_one_connection(place: Place, *, stream: bool) -> None:
    """Twenty turns in a row need one connection."""
    place.server.script(_HELLO)

    async def talk() -> None:
        model = place.model()
        for _ in range(20):
            await _drained(model, hello(model.model), stream)

    before = place.server.connections
    asyncio.run(talk())
    opened = place.server.connections - before
    problems([f"{opened} connections for 20 turns"] if opened != 1 else [], "connections")


def check_cancellation(place: Place) -> None:
    """Cancelling a stream closes its socket at once."""
    place.server.script(LONG.having(piece=1, pause=0.05))

    async def cancel() -> float:
        first = asyncio.Event()

        async def read() -> None:
            model = place.model()
            async for _ in model.generate_content_async(hello(model.model), stream=True):
                first.set()

        task = asyncio.create_task(read())
        async with asyncio.timeout(10):
            await first.wait()
        started = time.monotonic()
        task.cancel()
        await asyncio.wait({task})
        assert await asyncio.to_thread(place.server.left.wait, 4), "the socket stays open"
        return time.monotonic() - started

    took = asyncio.run(cancel())
    problems([f"the socket closed after {took:.2f} s"] if took > _SOON else [], "cancellation")


def check_abandoned(place: Place, streams: int) -> None:
    """Streams that are left at their first chunk leave no task and no socket behind."""
    place.server.script(LONG)

    async def abandon() -> list[str]:
        model = place.model()
        for _ in range(streams):
            async with aclosing(model.generate_content_async(hello(model.model), stream=True)) as responses:
                await anext(responses)
        gc.collect()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if others:
            _, others = await asyncio.wait(others, timeout=2)
        await closed(model)
        return [str(task) for task in others]

    left = [f"a task is left: {task}" for task in asyncio.run(abandon())]
    until = time.monotonic() + 2
    while place.server.open_connections and time.monotonic() < until:
        time.sleep(0.01)
    if place.server.open_connections:
        left.append(f"{place.server.open_connections} connections are open")
    problems(left, "abandoned streams")


async def _drained(model: BaseLlm, request: LlmRequest, stream: bool) -> None:
    async for _ in model.generate_content_async(request, stream=stream):
        pass


def faults() -> Mapping[str, Fault]:
    """The faults of the kit."""
    return FAULTS
