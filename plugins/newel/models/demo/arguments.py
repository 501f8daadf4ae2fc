"""Arguments from a prompt: the values that its clues give for a JSON schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from newel.models.demo.choice import profile
from newel.models.demo.clues import Clues, Number, key_of
from newel.models.demo.strings import fill_string, is_free_text
from newel.models.demo.words import stem, stems, words
from newel.models.json_schemas import Schema
from newel.models.offline.declarations import Declared
from newel.models.offline.schemas import kind, options, sample, settled

#: "No clue gives a value", since None may be a value.
MISSING: Any = object()
#: A recursive schema is filled no deeper.
_DEPTH = 8
_NO = re.compile(r"\b(?:no|not|without|don'?t|disable|false|off)\b[\s\w]{0,12}$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Slot:
    """A value to be filled: its property's name, its settled schema, and whether it must have one."""

    name: str
    schema: Schema
    root: Schema
    required: bool
    depth: int = 0

    def inner(self, schema: Any, *, name: str | None = None, required: bool | None = None) -> _Slot:
        return _Slot(
            self.name if name is None else name,
            settled(schema, self.root),
            self.root,
            self.required if required is None else required,
            self.depth + 1,
        )


def fill(schema: Schema, clues: Clues, name: str = "") -> Any:
    """A value for `schema`; a required value without a clue becomes a default, an example or the least value."""
    return _fill(_Slot(name, settled(schema, schema), schema, True), clues)


def arguments(tool: Declared, text: str) -> list[dict[str, Any]]:
    """The arguments of each call: one call, or one for each enumerated item if there is a single text parameter."""
    schema = {"type": "object", **tool.parameters}
    own = profile(tool)
    properties = stems(" ".join(schema.get("properties", ())))
    clues = Clues(text, own.name | own.description | frozenset(properties))
    first: dict[str, Any] = fill(schema, clues)
    texts = [name for name, value in first.items() if isinstance(value, str)]
    alone = len(texts) == 1 and not is_free_text(texts[0])
    if not alone or settled(schema["properties"].get(texts[0]), schema).get("enum"):
        return [first]
    group = next((p.group for p in clues.phrases if p.used and p.text == first[texts[0]]), None)
    others = [p.text for p in clues.phrases if p.group == group and not p.used] if group is not None else []
    return [first, *({**first, texts[0]: other} for other in others)]


def _fill(slot: _Slot, clues: Clues) -> Any:
    schema = slot.schema
    if slot.depth > _DEPTH:
        return sample(schema, slot.root) if slot.required else MISSING
    if "const" in schema:
        return schema["const"]
    if (named_value := _by_name(slot, clues)) is not MISSING:
        return named_value
    if branches := options(schema):
        for branch in branches:
            value = _fill(slot.inner(branch, required=False), clues)
            if value is not MISSING:
                return value
        if not slot.required:
            return MISSING
        return schema["default"] if "default" in schema else _fill(slot.inner(branches[0]), clues)
    if isinstance(schema.get("enum"), list):
        return _enum(slot, clues)
    filler = _FILLERS.get(kind(schema), _string)
    return filler(slot, clues)


def _by_name(slot: _Slot, clues: Clues) -> Any:
    """The value that the prompt or a tool's result gives under the property's own name, if it fits."""
    value = clues.values.get(key_of(slot.name), MISSING) if slot.name else MISSING
    return MISSING if value is MISSING else _coerced(value, slot.schema, slot.root)


def _coerced(value: Any, schema: Schema, root: Schema) -> Any:
    if branches := options(schema):
        values = (_coerced(value, settled(branch, root), root) for branch in branches)
        return next((one for one in values if one is not MISSING), MISSING)
    if isinstance(listed := schema.get("enum"), list):
        return next((one for one in listed if str(one).lower() == str(value).lower()), MISSING)
    json_type = kind(schema)
    if json_type in ("integer", "number"):
        return _as_number(value, whole=json_type == "integer")
    if json_type == "boolean":
        return {"true": True, "yes": True, "false": False, "no": False}.get(str(value).lower(), MISSING)
    if json_type == "string" and isinstance(value, (int, float)):
        return str(value)
    fits: dict[str, tuple[type, ...]] = {"string": (str,), "array": (list,), "object": (dict,), "null": (type(None),)}
    return value if isinstance(value, fits.get(json_type, (object,))) else MISSING


def _as_number(value: Any, *, whole: bool) -> Any:
    if isinstance(value, bool):
        return MISSING
    try:
        number = float(value)
    except (TypeError, ValueError):
        return MISSING
    if number.is_integer():
        return int(number)
    return MISSING if whole else number


def _enum(slot: _Slot, clues: Clues) -> Any:
    """The value that is mentioned first; the default or the first value if none is mentioned."""
    text = " ".join(words(clues.text))
    prompt = {stem(word) for word in words(clues.text)}
    places: list[tuple[int, Any]] = []
    for value in slot.schema["enum"]:
        plain = " ".join(words(str(value)))
        match = re.search(rf"\b{re.escape(plain)}\b", text) if len(plain) > 1 else None
        if match is not None:
            places.append((match.start(), value))
        elif len(plain) > 2 and stem(plain) in prompt:
            places.append((len(text), value))
    if places:
        return min(places, key=lambda place: place[0])[1]
    return sample(slot.schema, slot.root) if slot.required else MISSING


def _number(slot: _Slot, clues: Clues) -> Any:
    """The number next to the property's name, else the next one that fits; an optional one may take what is left."""
    whole = kind(slot.schema) == "integer"
    free = [n for n in clues.numbers if not n.used and _within(n, slot.schema) and (not whole or n.value.is_integer())]
    matches = [n for n in free if n.beside & set(stems(slot.name))]
    number = next(iter(matches or free), None)
    if number is None:
        return sample(slot.schema, slot.root) if slot.required else MISSING
    number.used = True
    return int(number.value) if number.value.is_integer() else number.value


def _within(number: Number, schema: Mapping[str, Any]) -> bool:
    low, high = schema.get("minimum"), schema.get("maximum")
    return (low is None or number.value >= low) and (high is None or number.value <= high)


def _boolean(slot: _Slot, clues: Clues) -> Any:
    """True if the property is mentioned, false if it is denied."""
    name_stems = set(stems(slot.name))
    for match in re.finditer(r"\w+", clues.text):
        if stem(match[0]) in name_stems:
            return _NO.search(clues.text[: match.start()]) is None
    return sample(slot.schema, slot.root) if slot.required else MISSING


def _array(slot: _Slot, clues: Clues) -> Any:
    item = slot.inner(slot.schema.get("items") or {}, required=False)
    most = int(slot.schema.get("maxItems") or 50)
    items: list[Any] = []
    if isinstance(listed := item.schema.get("enum"), list):
        prompt = set(words(clues.text))
        items = [value for value in listed if set(words(str(value))) <= prompt]
    elif kind(item.schema) != "object":
        while len(items) < most and (value := _fill(item, clues)) is not MISSING:
            if value in items:  # a clue that is not used up, such as a date
                break
            items.append(value)
    elif (value := _fill(slot.inner(item.schema, required=True), clues)) and slot.required:
        items = [value]
    if items or not slot.required:
        least = sample(slot.schema, slot.root) if slot.required else []
        return [*items, *least[len(items) :]][:most] if items else MISSING
    return sample(slot.schema, slot.root)


def _object(slot: _Slot, clues: Clues) -> Any:
    """Required properties first, so that optional ones get what is left; the order is the schema's."""
    properties = slot.schema.get("properties", {})
    required = set(slot.schema.get("required", ()))
    slots = [slot.inner(inner, name=name, required=name in required) for name, inner in properties.items()]
    values: dict[str, Any] = {}
    for one in sorted(slots, key=lambda s: (not _is_named(s, clues), not s.required)):
        value = _fill(one, clues)
        if value is not MISSING:
            values[one.name] = value
    if not values and not slot.required:
        return MISSING
    return {name: values[name] for name in properties if name in values}


def _is_named(slot: _Slot, clues: Clues) -> bool:
    """Whether a number is next to the property's name: it must not go to another property."""
    numeric = kind(slot.schema) in ("integer", "number")
    return numeric and any(n.beside & set(stems(slot.name)) for n in clues.numbers)


def _string(slot: _Slot, clues: Clues) -> Any:
    value = fill_string(slot.name, slot.schema, clues, required=slot.required)
    if value is not None:
        return value
    return sample(slot.schema, slot.root) if slot.required else MISSING


def _null(slot: _Slot, clues: Clues) -> Any:
    return None if slot.required else MISSING


_FILLERS: dict[str, Callable[[_Slot, Clues], Any]] = {
    "integer": _number,
    "number": _number,
    "boolean": _boolean,
    "array": _array,
    "object": _object,
    "null": _null,
}
