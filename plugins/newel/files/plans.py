"""The plan of a model (an agent or an app): the mapping of a file checked against its fields, and how to make it."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from pydantic import BaseModel, ValidationError

from newel.files.compilation import Constant, Factory, Place
from newel.files.document import problems, unknown_key
from newel.files.fields import FieldKind, kind_by_annotation
from newel.files.names import reason
from newel.files.syntax import Steps
from newel_kernel import Json, NewelError


@dataclass(frozen=True, slots=True)
class Form:
    """The meaning of a file's keys, apart from the fields of the model that it describes."""

    fields: Mapping[str, FieldKind]
    #: Other spellings of a field.
    spellings: Mapping[str, str]
    #: Keys that belong to a field, whose reader takes them.
    companions: Mapping[str, str] = field(default_factory=dict)
    #: Keys that are not fields.
    further: tuple[str, ...] = ()
    #: What the file is called in messages; by default the model's name.
    noun: str = ""

    def kind_of(self, model: type[BaseModel], name: str) -> FieldKind | None:
        """The kind of a field of `model`; None if it is plain data."""
        return self.fields.get(name) or kind_by_annotation(model.model_fields[name].annotation)

    def keys_of(self, model: type[BaseModel]) -> set[str]:
        """The keys of the fields of `model`, without other spellings."""
        names = {name for name, info in model.model_fields.items() if info.init is not False}
        return {*names, *self.further, *(key for key, name in self.companions.items() if name in names)}


class ModelPlan:
    """A model while it is read: `check` reads its fields, a call makes it."""

    def __init__(self, place: Place, form: Form) -> None:
        self.place = place
        assert isinstance(place.value, Mapping)
        self.data: Mapping[str, object] = place.value
        self.form = form
        #: The file as the model from which the class makes its arguments, if it has such a model.
        self.config: BaseModel | None = None
        self._kind: type[BaseModel] = BaseModel
        self._makes: dict[str, Factory] = {}

    def read_ahead(self) -> None:
        """Read the fields of the form, while the class that has them is not yet imported."""
        keys = {self.form.spellings.get(key, key): key for key in self.data}
        for name, key in keys.items():
            if name in self.form.fields:
                self._makes[name] = self.form.fields[name].read(self.place.child(key, self.data[key]))

    def check(self, kind: type[BaseModel]) -> None:
        """Check every key, then the plain data, then the values from the readers."""
        self._kind = kind
        places = self._places()
        kinds = {name: self.form.kind_of(kind, name) for name in places}
        plain = {name: place.value for name, place in places.items() if kinds[name] is None}
        self._check_data(places, plain)
        for name, place in places.items():
            field_kind = kinds[name]
            if field_kind is not None and name not in self._makes:
                self._makes[name] = field_kind.read(place)
        self._makes |= {name: Constant(value) for name, value in plain.items()}
        data = {name: make.value for name, make in self._makes.items() if isinstance(make, Constant)}
        self._check_data(places, data)

    def _places(self) -> dict[str, Place]:
        """Field -> its place in the file."""
        fields, allowed = self._kind.model_fields, self.form.keys_of(self._kind)
        companions = self.form.companions
        places: dict[str, Place] = {}
        for key, value in self.data.items():
            name = self.form.spellings.get(key, key) if key not in allowed else key
            place = self.place.child(str(key), value)
            if name in fields and name in allowed:
                if name in places:
                    raise place.error(f"{key!r} means the same as {places[name].key!r}; keep one of them")
                places[name] = place
            elif key in companions and key in allowed and companions[key] not in self.data:
                raise place.error(f"{key!r} goes with {companions[key]!r}, which is missing; add it")
            elif name not in allowed and not self._is_of_config(key):
                raise place.error(unknown_key(str(key), self.form.noun or self._kind.__name__, allowed))
        return places

    def _is_of_config(self, key: str) -> bool:
        """Whether the class's `config_type`, which has validated the keys, takes this one."""
        return self.config is not None and key in {*type(self.config).model_fields, *(self.config.model_extra or ())}

    def _check_data(self, places: Iterable[str], data: Mapping[str, object]) -> None:
        """Report the problems that the class's validation finds in the data, and missing fields."""
        own = not hasattr(self._kind.__init__, "__pydantic_base_init__")  # it may fill in what is missing
        if own and not _takes_fields(self._kind):
            return
        faults: list[tuple[Steps, str]] = []
        try:
            _rehearsal(self._kind).model_validate(dict(data))
        except ValidationError as error:
            read = set(places) - set(data)
            missing = {one["loc"] for one in error.errors() if one["type"] == "missing"} if own else set()
            depth = len(self.place.steps)
            faults += (
                (steps, message)
                for steps, message in problems(error, self.place.steps, self._kind.model_fields)
                if len(steps) > depth and steps[depth] not in read and steps[depth:] not in missing
            )
        except Exception:  # noqa: BLE001 - a validator that needs the whole object fails again when it is made
            return
        if faults:
            raise self.place.file.document.errors(faults)

    def __call__(self) -> BaseModel:
        """Make the model."""
        document = self.place.file.document
        values: Json = {name: make() for name, make in self._makes.items()}
        own = getattr(self._kind, "_parse_config", None)
        try:
            if self.config is not None and own is not None:
                values = own(self.config, str(document.file.absolute()), values)
            return self._kind(**values)
        except ValidationError as error:
            faults = list(problems(error, self.place.steps, self._kind.model_fields))
            raise document.errors(faults) from error
        except (NewelError, ValueError, TypeError) as error:
            raise self.place.error(str(error)) from error
        except Exception as error:  # of the class's own code
            raise self.place.error(reason(error)) from error


def _takes_fields(kind: type[BaseModel]) -> bool:
    """Whether a class's own ``__init__`` takes any keywords and nothing else."""
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    return [one.kind for one in parameters] == [inspect.Parameter.VAR_KEYWORD]


@cache
def _rehearsal(kind: type[BaseModel]) -> type[BaseModel]:
    """`kind`, for validating data only: its code that runs after construction does not run."""
    members: Json = {"model_post_init": lambda self, context, /: None, "__module__": kind.__module__}
    members["__init__"] = BaseModel.__init__
    return type(kind.__name__, (kind,), members)
