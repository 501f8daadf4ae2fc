"""Answers that a provider must be able to read: those that every protocol can give, and those of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from newel_testkit.wire.answers import Answer, call, common_answers, text, thought

_ROME, _OSLO = {"city": "Rome"}, {"city": "Oslo"}
_THOUGHTFUL = {"input": 20, "output": 30, "reasoning": 12}
_CITED = {
    "type": "char_location",
    "cited_text": "blue sky",
    "document_index": 0,
    "document_title": "Sky",
    "start_char_index": 0,
    "end_char_index": 8,
    "file_id": None,
}


def kit_answers(protocol: str) -> Mapping[str, Answer]:
    """The answers for a protocol, by name; a protocol that only knows Chat Completions gets those of ``openai``."""
    own = _OWN.get("openai" if protocol == "compatible" else protocol)
    return {**common_answers(), **dict(_further(protocol)), **(dict(own()) if own is not None else {})}


def _further(protocol: str) -> Iterator[tuple[str, Answer]]:
    """Further answers of all protocols, which not every test of a protocol needs."""
    yield "thought_and_text", Answer(parts=(thought("Let me think about it."), text("Four.")), usage=_THOUGHTFUL)
    look = (thought("I need the weather."), call("weather", _ROME))
    yield "thought_and_call", Answer(parts=look, stop="tool", usage=_THOUGHTFUL)
    both = (thought("Both cities."), call("weather", _ROME, "call_a1"), call("weather", _OSLO, "call_a2"))
    yield "thought_and_parallel", Answer(parts=both, stop="tool", usage=_THOUGHTFUL)
    three = (call("weather", _ROME, "call_p1"), call("weather", _OSLO, "call_p2"), call("add", {"a": 1}, "call_p3"))
    yield "three_calls", Answer(parts=three, stop="tool")
    yield "safety", Answer(stop="safety")
    if protocol != "openai-responses":
        yield "unheard_stop", Answer(parts=(text("Done."),), stop="brand_new_reason")
    if protocol not in ("openai", "compatible"):
        after = (call("weather", _ROME), text("Meanwhile."))
        yield "text_after_a_call", Answer(parts=after, stop="tool")
    if protocol in ("openai", "compatible", "gemini"):
        yield "no_choices", Answer(more={"no_choices": True})
    if protocol != "gemini":
        broken = (call("weather", _ROME),)
        yield "cut_arguments", Answer(parts=broken, stop="tool", raw_args='{"city": "Ro')
        yield "arguments_cut_by_the_limit", Answer(parts=broken, stop="max", raw_args='{"city": "Ro')


def _anthropic() -> Iterator[tuple[str, Answer]]:
    yield "omitted_thought", Answer(parts=(thought(""), call("weather", _ROME)), stop="tool")
    yield "redacted", Answer(parts=({"redacted": "hidden"}, call("weather", _ROME)), stop="tool")
    yield "two_thoughts", Answer(parts=(thought("A"), thought("B"), text("AB.")))
    yield "stop_sequence", Answer(parts=(text("One two"),), stop="stop", stop_sequence="three")
    yield "context_window", Answer(parts=(text("Too long"),), stop="model_context_window_exceeded")
    yield "written", Answer(parts=(text("Kept."),), usage={"input": 2000, "cached": 300, "written": 1200, "output": 7})
    yield "citations", Answer(parts=(text("The sky is blue.", citations=[_CITED]),))
    yield "unknown_block", Answer(parts=({"block": {"type": "brand_new_block", "value": 1}}, text("Known.")))
    yield "unknown_event", Answer(parts=(text("Known."),), extra_events=({"type": "brand_new_event", "value": 1},))


def _openai() -> Iterator[tuple[str, Answer]]:
    two = (call("weather", _ROME, "call_1"), call("add", {"a": 1, "b": 2}, "call_2"))
    for how in (["interleaved"], ["whole"], ["whole", "same_index"], ["whole", "one_chunk"]):
        yield "calls_" + "_".join(how), Answer(parts=two, stop="tool", more={"calls": how}, piece=3)
    yield "call_that_stops", Answer(parts=(call("weather", _ROME),), stop="stop")
    yield "arguments_in_a_list", Answer(parts=(call("weather", {}),), stop="tool", raw_args='["Rome"]')
    yield "refusal", Answer(parts=(text("No."),), more={"refusal": "I cannot help with that."})
    yield "reasoning", Answer(parts=(thought("Hmm."), text("Yes.")), more={"reasoning_key": "reasoning"})


def _responses() -> Iterator[tuple[str, Answer]]:
    yield "arguments_in_a_list", Answer(parts=(call("weather", {}),), stop="tool", raw_args='["Rome"]')
    yield "refusal", Answer(parts=(text("No."),), more={"refusal": "I cannot help with that."})
    yield "failed", Answer(stop="failed")
    event = {"type": "response.brand_new.delta", "delta": "x"}
    yield "unknown_event", Answer(parts=(text("Known."),), extra_events=(event,))
    yield "interleaved", Answer(parts=(text("One."), call("weather", _ROME)), stop="tool", more={"interleaved": True})


def _gemini() -> Iterator[tuple[str, Answer]]:
    yield "two_thoughts", Answer(parts=(thought("A"), thought("B"), text("AB.")))
    parts = (call("weather", _ROME, "call_1"), call("weather", _OSLO, "call_2"))
    yield "calls_without_ids", Answer(parts=parts, stop="tool", more={"no_ids": True})


_OWN = {"anthropic": _anthropic, "openai": _openai, "openai-responses": _responses, "gemini": _gemini}
