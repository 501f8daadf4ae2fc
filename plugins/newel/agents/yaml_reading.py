"""Reading in two steps: a reader checks what a file says and returns how to make it.

Everything that a file and those below it say is read first; only then is anything imported, called or made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from newel.agents.common_configs import CodeConfig
from newel.agents.yaml_calls import applied
from newel.agents.yaml_positions import problems
from newel.agents.yaml_syntax import Steps
from newel_kernel import AgentConfigError, ConfigurationError, NewelError

if TYPE_CHECKING:
    from newel.agents.yaml_loader import AgentFile

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")

#: Makes what was read. It is called once, when every file has been read.
Make = Callable[[], Any]
Reader = Callable[["AgentFile", Steps, Any], Make]


class Ready(Generic[T]):
    """How to make what is data and therefore made already."""

    def __init__(self, value: T) -> None:
        self.value = value

    def __call__(self) -> T:
        """The value."""
        return self.value


def parsed(file: AgentFile, steps: Steps, value: Any, model: type[M]) -> M:
    """`value` as an instance of `model`; its problems are reported with their lines."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        found = list(problems(error, steps, model.model_fields))
    raise file.document.errors(found)


def items(file: AgentFile, steps: Steps, value: Any) -> list[tuple[Steps, Any]]:
    """The items of a list, each with its place."""
    if not isinstance(value, list):
        raise file.error(steps, f"{steps[-1]}: a list is wanted, not {shown(value)}; start each item with `- `")
    return [((*steps, index), item) for index, item in enumerate(value)]


def shown(value: Any) -> str:
    """What a value of a file is, in a message."""
    return "nothing" if value is None else type(value).__name__


def read_text(file: AgentFile, steps: Steps, value: Any) -> Ready[str]:
    """A text."""
    if isinstance(value, str):
        return Ready(value)
    raise file.error(steps, f"{steps[-1]}: a text is wanted, not {shown(value)}; put it in quotes")


def read_code(file: AgentFile, steps: Steps, value: Any) -> Make:
    """A ``module.attribute`` of the app, with the arguments of its call where it has any."""
    config = parsed(file, steps, value, CodeConfig)
    find = located(file, steps, config.name)
    return lambda: resolved(file, steps, config, find())


def located(file: AgentFile, steps: Steps, name: str) -> Make:
    """Check that the app's folder has the module of a name; the result imports it."""
    try:
        file.code.check(name)
    except ConfigurationError as error:
        raise file.error(steps, str(error)) from error

    def find() -> Any:
        try:
            return file.code.find(name)
        except ConfigurationError as error:
            raise file.error(steps, str(error)) from error

    return find


def resolved(file: AgentFile, steps: Steps, config: CodeConfig, found: Any) -> Any:
    """`found`, or what it makes of the arguments of `config`."""
    if config.args is None:
        return found
    if not callable(found):
        raise file.error(steps, f"{config.name!r} takes no args: it is not callable; remove `args`")
    return called(file, steps, config.name, lambda: applied(found, config))


def called(file: AgentFile, steps: Steps, name: str, call: Make) -> Any:
    """What `call` returns for the file's arguments; whatever it raises is the file's problem."""
    try:
        return call()
    except AgentConfigError:
        raise
    except Exception as error:
        raise file.error((*steps, "args"), f"{name!r} cannot be made of these args: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    if isinstance(error, NewelError):
        return str(error)
    if isinstance(error, ValidationError):  # its text would show the values, cut short
        return "; ".join(message for _, message in problems(error, (), ()))
    return f"{type(error).__name__}: {error}"
