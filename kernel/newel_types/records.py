"""The base of the types that every turn makes: slotted dataclasses with pydantic's methods.

Inside the runtime these objects are built without validation. Validation happens only at the doors
(`model_validate`, `model_validate_json`), through one pydantic ``TypeAdapter`` per class, built at first use.

Committed objects are *frozen* by swapping their class for a subclass whose attributes cannot be set:
reading costs nothing, ``isinstance`` holds, and a copy of a frozen object is an ordinary one again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, ClassVar, Literal, Self, TypeAlias, TypeVar, dataclass_transform

from pydantic import (
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    SerializationInfo,
    TypeAdapter,
    ValidationError,
)
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, core_schema, from_json, to_json, to_jsonable_python

from newel_types.field_errors import FieldError
from newel_types.model_plugins import read_model_plugins
from newel_types.sparse import SparseValues, slotted

read_model_plugins()

T = TypeVar("T")
#: A JSON object, as a dict.
Json: TypeAlias = dict[str, Any]

WIRE_CONFIG = ConfigDict(
    alias_generator=to_camel,
    populate_by_name=True,
    extra="forbid",
    arbitrary_types_allowed=True,
    ser_json_bytes="base64",
    val_json_bytes="base64",
    protected_namespaces=(),
)


#: True while a door (the TypeAdapter of a class) is built: the record classes it reaches become part of its schema.
_building_door: ContextVar[bool] = ContextVar("building_door", default=False)


class FrozenError(AttributeError):
    """An attribute of a committed event was set. Work on a copy: ``obj.model_copy(update={...})``."""


class Record:
    """Pydantic's familiar methods over a slotted dataclass, with unknown fields kept."""

    __slots__ = ("_extra",)
    #: Unknown fields, by the name under which they came; unset if the object has none.
    _extra: Json | None
    __pydantic_config__: ClassVar[ConfigDict] = WIRE_CONFIG
    #: The names of the fields, in order.
    field_names: ClassVar[tuple[str, ...]]
    #: The fields that few objects have, and the value for an object that has none of them (see the module `sparse`).
    sparse: ClassVar[tuple[str, ...]] = ()
    no_sparse: ClassVar[SparseValues]
    sparse_values: SparseValues
    #: The fields that are not sparse.
    _common: ClassVar[tuple[str, ...]]
    _plain: ClassVar[type[Any]]
    _frozen: ClassVar[type[Any]]
    #: What `model_copy` calls, made when it first does.
    _copy_fields: ClassVar[Callable[[Any, Any], None] | None] = None
    _copy_deeply: ClassVar[Callable[[Any, Any], None] | None] = None
    _adapter: ClassVar[TypeAdapter[object] | None] = None
    #: The class of which one object alone may stand for a record, as the only item of a field; by their names.
    wraps: ClassVar[tuple[str, str]] = ("", "")
    #: True once any object of this process holds unknown fields; until then a dump need not look for them.
    _extras_exist: ClassVar[bool] = False

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        if not _building_door.get():
            # Inside another model a record goes through its own door: its unknown fields are kept
            # there, and the model does not build the graph of record classes before it needs it.
            return core_schema.no_info_plain_validator_function(
                cls.model_validate,
                serialization=core_schema.plain_serializer_function_ser_schema(dump_nested, info_arg=True),
            )
        schema = handler(source)
        # Only Python input can hold a foreign object; JSON stays on pydantic's fast path, where
        # bytes are base64.
        python = core_schema.no_info_before_validator_function(cls._own_form, schema)
        return core_schema.json_or_python_schema(json_schema=schema, python_schema=python)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        if schema["type"] != "function-plain":
            return handler(schema)
        own = cls._door().core_schema
        # Wrapped, because a handler looks at a schema's own JSON-schema functions only below the top.
        return handler(core_schema.json_or_python_schema(json_schema=own, python_schema=own))

    @classmethod
    def _own_form(cls, obj: object) -> Any:
        """What `obj` is validated as; ValueError for a foreign object of another class, which would lose its values."""
        if obj.__class__ is dict:
            return obj
        name, field = cls.wraps
        if name and any(base.__name__ == name for base in type(obj).__mro__):
            return {field: [obj]}
        plain = as_plain(obj)
        own = cls._plain.__name__
        if plain is not obj and all(base.__name__ != own for base in type(obj).__mro__):
            raise ValueError(f"a {own} is needed, not a {type(obj).__module__}.{type(obj).__name__}")
        return plain

    @classmethod
    def _door(cls) -> TypeAdapter[Any]:
        plain = cls._plain
        if plain.__dict__.get("_adapter") is None:
            token = _building_door.set(True)
            try:
                plain._adapter = TypeAdapter(plain)
            finally:
                _building_door.reset(token)
        return plain._adapter  # type: ignore[no-any-return]

    @classmethod
    def model_validate(cls, obj: object, **_: object) -> Self:
        """An instance from a dict, from an instance (returned unchanged) or from a foreign pydantic object."""
        if isinstance(obj, cls):
            return obj
        obj = cls._own_form(obj)
        try:
            result: Self = cls._door().validate_python(obj)
        except ValidationError as error:
            result = _keep_unknown(cls, obj, error)
        return result

    @classmethod
    def model_validate_json(cls, data: str | bytes, **_: object) -> Self:
        """An instance from JSON (camelCase or snake_case keys; bytes as base64)."""
        try:
            result: Self = cls._door().validate_json(data)
        except ValidationError as error:
            if not any(e["type"] in _UNKNOWN for e in error.errors(include_url=False, include_context=False)):
                raise FieldError.of(error, cls._plain.__name__) from None
            rest, unknown = _split_unknown(from_json(data), error)
            result = _attach(cls._door().validate_json(to_json(rest)), unknown)
        return result

    @classmethod
    def model_json_schema(cls, **kwargs: Any) -> Json:
        """The JSON schema of the class."""
        return cls._door().json_schema(**kwargs)

    def model_dump(self, *, mode: Literal["python", "json"] = "python", **options: Any) -> Json:
        """A dict, as pydantic's ``model_dump`` (options `by_alias`, `exclude_none`, `include`, `exclude`, ...)."""
        options.pop("exclude_unset", None)
        dumped: Json = self._door().dump_python(self, mode=mode, **options)
        if Record._extras_exist:
            _write_extras(self, dumped, bool(options.get("by_alias")), mode)
        return dumped

    def model_dump_json(self, **options: Any) -> str:
        """JSON text, as pydantic's ``model_dump_json``."""
        options.pop("exclude_unset", None)
        if Record._extras_exist:
            indent = options.pop("indent", None)
            return to_json(self.model_dump(mode="json", **options), indent=indent).decode()
        return self._door().dump_json(self, **options).decode()

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """An unfrozen copy with `update` applied; `deep` copies what it holds, too."""
        plain = self._plain
        new: Self = object.__new__(plain)
        copy_fields = plain._copy_deeply if deep else plain._copy_fields
        if copy_fields is None:
            copy_fields = _copier(plain, deep)
        copy_fields(self, new)
        if plain.sparse:
            new.sparse_values = self.sparse_values.copy(deep_copy if deep else None)  # type: ignore[misc]  # a slot of such classes only
        if Record._extras_exist and (extra := getattr(self, "_extra", None)):
            new._extra = deep_copy(extra) if deep else dict(extra)
        if update:
            for name, value in update.items():
                setattr(new, name, value)
        return new

    def __copy__(self) -> Self:
        return self.model_copy()

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self.model_copy(deep=True)

    def __reduce__(self) -> tuple[object, ...]:
        state = {name: getattr(self, name) for name in self.field_names}
        return _rebuild, (self._plain, state, getattr(self, "_extra", None))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record) or other._plain is not self._plain:
            return NotImplemented
        return all(getattr(self, n) == getattr(other, n) for n in self.field_names)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        fields = (f"{n}={v!r}" for n in self.field_names if (v := getattr(self, n)) is not None)
        return f"{self._plain.__name__}({', '.join(fields)})"


@dataclass_transform(field_specifiers=(dataclasses.field,))
def record(cls: type[Any]) -> Any:
    """Make `cls` a slotted record dataclass and give it its frozen twin."""
    generated = "__init__" not in cls.__dict__
    new: Any = slotted(dataclasses.dataclass(eq=False, repr=False, init=generated)(cls))
    new.field_names = tuple(field.name for field in dataclasses.fields(new))
    new._common = tuple(name for name in new.field_names if name not in new.sparse)
    new._plain = new
    new._copy_fields = new._copy_deeply = None
    new._frozen = type(
        new.__name__,
        (new,),
        {
            "__slots__": (),
            "__module__": new.__module__,
            "__setattr__": _refuse,
            "__delattr__": _refuse,
            "__new__": lambda _frozen, *args, **kwargs: new(*args, **kwargs),  # dataclasses.replace gives a plain one
        },
    )
    new._frozen._plain = new
    return new


def forbid_extra(cls: type[T]) -> type[T]:
    """Let the constructor of a record refuse unknown fields with pydantic's ValidationError, not a TypeError.

    Only an object read from JSON keeps them. A field may bear its name on the wire, as google-adk's may.
    """
    make = cls.__init__
    names = frozenset(field.name for field in dataclasses.fields(cls))  # type: ignore[arg-type]  # a record is one
    on_the_wire = {to_camel(name): name for name in names}

    def __init__(self: T, *values: object, **fields: object) -> None:
        try:
            make(self, *values, **fields)
        except TypeError:
            own = {on_the_wire.get(name, name): value for name, value in fields.items()}
            if not (unknown := [name for name in own if name not in names]):
                if len(own) < len(fields) or own.keys() == fields.keys():  # a field twice, or not about names at all
                    raise
                make(self, *values, **own)
                return
            problems: list[InitErrorDetails] = [
                {"type": "extra_forbidden", "loc": (name,), "input": fields[name]} for name in unknown
            ]
            raise FieldError.from_exception_data(cls.__name__, problems) from None

    cls.__init__ = __init__  # type: ignore[assignment]
    return cls


def _refuse(self: Record, name: str, *_: object) -> None:
    raise FrozenError(
        f"{type(self).__name__}.{name} cannot be set: the object is part of a committed event. "
        f"Work on a copy: obj.model_copy(update={{{name!r}: ...}})"
    )


def as_plain(value: object) -> Any:
    """`value` itself, or the dict of a foreign pydantic object (google-genai's, for one)."""
    if isinstance(value, (Record, dict, type)) or not hasattr(value, "model_dump"):
        return value
    # By alias, because a field that is unknown here is kept under its name on the wire.
    return value.model_dump(exclude_none=True, by_alias=True)


def dump_nested(value: object, info: SerializationInfo) -> object:
    """The dump of a record that a pydantic model holds; anything else is left to pydantic."""
    if not isinstance(value, Record):
        return value
    return value.model_dump(
        mode="json" if info.mode == "json" else "python",
        by_alias=info.by_alias,
        include=info.include,
        exclude=info.exclude,
        exclude_none=info.exclude_none,
        exclude_defaults=info.exclude_defaults,
        context=info.context,
    )


def coerce(cls: type[Any], value: object) -> Any:
    """`value` as an instance of the record class `cls`, or None."""
    return value if value is None or isinstance(value, cls) else cls.model_validate(value)


#: Classes whose instances hold nothing that could change.
ATOMS = frozenset((str, int, float, bool, bytes, type(None)))


def deep_copy(value: Any) -> Any:
    """A copy of JSON-like data and records, much cheaper than ``copy.deepcopy``; other objects are shared."""
    kind = value.__class__
    if kind in ATOMS:
        return value
    if kind is dict:
        return {k: v if v.__class__ in ATOMS else deep_copy(v) for k, v in value.items()}
    if kind is list:
        return [deep_copy(v) for v in value]
    if kind is set:
        return set(value)
    if kind is tuple:
        return tuple(deep_copy(v) for v in value)
    if isinstance(value, Record):
        return value.model_copy(deep=True)
    if hasattr(value, "model_copy"):
        return value.model_copy(deep=True)
    return value


def _copier(plain: type[Any], deep: bool) -> Callable[[Any, Any], None]:
    """A function that copies a record's fields to another; generated code, which takes a third of a loop's time.

    (`dataclasses` makes constructors in the same way.)
    """
    value = "v if (v := old.{0}) is None or v.__class__ in ATOMS else deep_copy(v)" if deep else "old.{0}"
    lines = "".join(f"    new.{name} = {value.format(name)}\n" for name in plain._common)
    space: Json = {"ATOMS": ATOMS, "deep_copy": deep_copy}
    exec(f"def copy_fields(old, new):\n{lines}", space)  # noqa: S102 - made of field names alone
    copier: Callable[[Any, Any], None] = space["copy_fields"]
    setattr(plain, "_copy_deeply" if deep else "_copy_fields", copier)
    return copier


def _rebuild(plain: type[Any], state: Json, extra: Json | None) -> Any:
    new: Any = object.__new__(plain)
    for name, value in state.items():
        setattr(new, name, value)
    if extra:
        new._extra = extra
        Record._extras_exist = True
    return new


# --- unknown fields: the slow path at a door ------------------------------------------------------

_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")
_Unknown = list[tuple[tuple[Any, ...], Any]]


def _split_unknown(data: object, error: ValidationError) -> tuple[Any, _Unknown]:
    rest = deep_copy(data)
    unknown: _Unknown = []
    for problem in error.errors(include_url=False, include_context=False):
        if problem["type"] in _UNKNOWN:
            path = _real_path(rest, problem["loc"])
            owner = _at(rest, path[:-1])
            if isinstance(owner, dict) and path[-1] in owner:
                unknown.append((path, owner.pop(path[-1])))
    return rest, unknown


def _real_path(data: object, loc: tuple[Any, ...]) -> tuple[Any, ...]:
    """`loc` without the steps that name a part of the schema (such as a union's member) instead of a key."""
    path: list[Any] = []
    for step in loc[:-1]:
        if (isinstance(data, dict) and step in data) or (isinstance(data, list) and isinstance(step, int)):
            data = data[step]
            path.append(step)
    return (*path, loc[-1])


def _at(data: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        data = data[step]
    return data


def _keep_unknown(cls: type[Any], data: object, error: ValidationError) -> Any:
    rest, unknown = _split_unknown(data, error)
    if not unknown:
        raise FieldError.of(error, cls._plain.__name__) from None
    return _attach(cls._door().validate_python(rest), unknown)


def _attach(root: Any, unknown: _Unknown) -> Any:
    """Attach each unknown value to the record that it belongs to."""
    for path, value in unknown:
        owner, deepest, tail = root, root, path
        for i, step in enumerate(path[:-1]):
            owner = owner[step] if isinstance(owner, (list, dict)) else getattr(owner, _field(owner, step), None)
            if isinstance(owner, Record):
                deepest, tail = owner, path[i + 1 :]
        if len(tail) == 1:
            deepest._extra = {**(getattr(deepest, "_extra", None) or {}), tail[0]: value}
            Record._extras_exist = True
    return root


def _field(owner: Any, key: str) -> str:
    names = getattr(owner, "__dataclass_fields__", None) or type(owner).model_fields
    return key if key in names else next((n for n in names if to_camel(n) == key), key)


def _write_extras(obj: object, dumped: object, by_alias: bool, mode: str) -> None:
    if isinstance(obj, Record) and isinstance(dumped, dict):
        for name in obj.field_names:
            value = getattr(obj, name)
            if isinstance(value, (Record, list)):
                _write_extras(value, dumped.get(to_camel(name) if by_alias else name), by_alias, mode)
        extra = getattr(obj, "_extra", None) or {}
        dumped.update(to_jsonable_python(extra, bytes_mode="base64") if mode == "json" else extra)
    elif isinstance(obj, list) and isinstance(dumped, list):
        for value, target in zip(obj, dumped, strict=False):
            _write_extras(value, target, by_alias, mode)
