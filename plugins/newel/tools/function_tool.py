"""FunctionTool: a Python function as a tool."""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from newel.contexts.generics import OfFunction, P, R
from newel.models.wire.names import legal
from newel.policies.thread_pool import Pool
from newel.policies.time_limits import within
from newel.tools.annotations import note_locals, without_partial
from newel.tools.confirmation import Needed, refusal
from newel.tools.docstrings import document, split_document
from newel.tools.function_arguments import Arguments
from newel.tools.function_schema import parameters_schema
from newel.tools.function_signature import Call, Shape, shape_of
from newel_kernel import BaseTool, ConfigurationError, Context, Effect, Json
from newel_types import ATOMS, FunctionDeclaration

#: Calls a synchronous function in place, or in a thread: then the result is to be awaited.
SyncCall = Callable[[Callable[..., object], Json], object]
_NAME = re.compile(r"[A-Za-z0-9_.:-]")
_MOST = 128
#: The threads for synchronous functions with a timeout: in the event loop nothing could end them.
_THREADS = Pool()


@dataclass(slots=True)
class FunctionState:
    """What a FunctionTool has read from its function."""

    #: The function's docstring.
    document: str
    #: Whether the distribution decides what the model is told of the parameters.
    undecided: bool
    #: Whether the model is told all of the signature.
    whole: bool = False
    descriptions: dict[str, str] = field(default_factory=dict)
    shape: Shape | None = None
    declaration: FunctionDeclaration | None = None
    arguments: Arguments | None = None
    call: Callable[..., object] | None = None
    #: Seconds that a call may take, if the distribution has no policy that enforces them.
    limit: float = 0
    #: Calls a synchronous function with a timeout, if the distribution has no threads for it.
    call_sync: SyncCall | None = None
    #: Further arguments of each call, which the model neither sees nor sets.
    injected: Json = field(default_factory=dict)


class FunctionTool(OfFunction[P, R], BaseTool):
    """A function, a coroutine function or a callable object; its signature is the schema, its docstring the text.

    A parameter annotated with the Context (or named `tool_context` or `ctx`) gets the context and is not shown to the
    model. With `require_confirmation` (true, or a function of the arguments that says so) the user is asked first.
    `describe_parameters` tells the model all of the signature: the docstring's texts on parameters go into the schema,
    and so do the metadata of annotations, ``*args`` and ``**kwargs``. If it is None, the distribution decides.
    `timeout` is in seconds (0: none). The policy `tool_timeout`, which `standard` has, enforces it; without the policy
    the tool does, and a synchronous function with a timeout runs in a thread.
    """

    def __init__(
        self,
        func: Callable[P, R] | None = None,
        *,
        fn: Callable[P, R] | None = None,
        require_confirmation: Needed = False,
        describe_parameters: bool | None = None,
        effect: Effect | str | None = None,
        name: str | None = None,
        timeout: float | None = None,
    ) -> None:
        function: Callable[P, R] | None = func or fn
        while isinstance(function, FunctionTool):  # a decorated function
            function = function.func
        if function is None or not callable(function):
            raise ConfigurationError(f"FunctionTool needs a callable, not {function!r}")
        note_locals(function)
        self.func: Callable[P, R] = function
        self.__newel__ = FunctionState(document(function), describe_parameters is None)
        super().__init__(name=name or _name(function), description=self.__newel__.document, effect=effect)
        if timeout is not None:
            self.timeout = timeout
        self._require_confirmation = require_confirmation
        if describe_parameters:
            _describe(self, whole=True)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself: nothing is checked, asked or traced."""
        return self.func(*args, **kwargs)

    def __copy__(self) -> Self:
        copied = object.__new__(type(self))
        copied.__dict__ = {**self.__dict__, "__newel__": copy.copy(self.__newel__)}
        return copied

    def __newel_rename__(self, name: str) -> None:
        """Give the tool another name; everything that carries the old one is made again."""
        self.name = name
        self.__newel__.declaration = self.__newel__.arguments = self.__newel__.call = None

    def __newel_confirm__(self, needed: Needed) -> None:
        """Ask the user before each call, or before those for which `needed` is true."""
        self._require_confirmation = needed

    def __newel_configure__(self, settings: Mapping[str, object]) -> None:
        """Describe the parameters as the distribution's `settings` say, unless the tool has its own choice."""
        whole = bool(getattr(settings.get("function_tools"), "describe_parameters", False))
        if self.__newel__.undecided and whole is not self.__newel__.whole:
            _describe(self, whole)
        limit = getattr(self, "timeout", None) or 0
        self.__newel__.limit = 0 if "tool_timeout" in settings else limit
        self.__newel__.call_sync = _THREADS.call if limit else None

    @property
    def __newel_origin__(self) -> str:
        """The function's qualified name."""
        name = getattr(self.func, "__qualname__", type(self.func).__qualname__)
        return f"{getattr(self.func, '__module__', '?')}.{name}"

    @property
    def __newel_shape__(self) -> Shape:
        """The function's signature, read once."""
        if self.__newel__.shape is None:
            self.__newel__.shape = shape_of(self.func, whole=self.__newel__.whole)
        return self.__newel__.shape

    def _get_declaration(self) -> FunctionDeclaration:
        state = self.__newel__
        if state.declaration is None or state.declaration.name != self.name:
            schema = parameters_schema(self.name, self.__newel_shape__, state.descriptions, whole=state.whole)
            state.declaration = FunctionDeclaration(
                name=self.name, description=self.description, parameters_json_schema=schema
            )
        return state.declaration

    async def run_async(self, *, args: Json, tool_context: Context) -> object:
        """Coerce the arguments and call the function; a missing or wrong one is an error result for the model."""
        state = self.__newel__
        arguments = state.arguments or read_arguments(self)
        values = args
        if not arguments.fit(args):
            settings = tool_context.get_invocation_context().composition.settings.get("function_tools")
            strict = bool(getattr(settings, "validate_arguments", False))
            values, error = arguments.prepare(args, strict=strict)
            if error is not None:
                return {"error": error}
        needed = self._require_confirmation
        if needed and (rejection := await refusal(self.name, needed, values, tool_context)) is not None:
            return rejection
        shape = state.shape or self.__newel_shape__
        if shape.context_name is not None:  # in a new dict: the one that the callbacks see must not hold it
            values = {**values, shape.context_name: tool_context}
        if state.injected:
            values = {**values, **state.injected}
        function = state.call or _read_call(self)
        call_sync = tool_context.call_sync or state.call_sync
        result = call_sync(function, values) if call_sync is not None and not shape.is_async else function(**values)
        if state.limit and inspect.isawaitable(result):
            return await within(state.limit, result, self.name)
        return await result if result.__class__ not in ATOMS and inspect.isawaitable(result) else result

    def __newel_with_arguments__(self, values: Json) -> Self:
        """A copy of the tool that passes further `values`, which the model neither sees nor sets."""
        tool = copy.copy(self)
        tool.__newel__.injected = {**self.__newel__.injected, **values}
        return tool


def _describe(tool: FunctionTool, whole: bool) -> None:
    state = tool.__newel__
    prose, described = split_document(state.document)
    before, after = (state.document, prose) if whole else (prose, state.document)
    tool.description = tool.description.replace(before, after, 1)  # others may have added more to it
    state.whole, state.descriptions = whole, described if whole else {}
    state.shape = state.declaration = state.arguments = state.call = None


def _read_call(tool: FunctionTool) -> Callable[..., object]:
    """The callable for the function; it takes keywords."""
    signature = tool.__newel_shape__.signature
    tool.__newel__.call = call = tool.func if signature is None else Call(tool.func, signature)
    return call


def read_arguments(tool: FunctionTool) -> Arguments:
    """The arguments that the model may set."""
    state, shape = tool.__newel__, tool.__newel_shape__
    if state.whole:  # the model must not set what was not declared
        schema = tool._get_declaration().parameters_json_schema or {}
        parameters = {name: p for name, p in shape.parameters.items() if name in schema.get("properties", ())}
        reserved = shape.reserved | shape.parameters.keys() - parameters.keys()
        shape = replace(shape, parameters=parameters, reserved=reserved)
    state.arguments = arguments = Arguments(tool.name, shape)
    return arguments


def _name(function: Callable[..., object]) -> str:
    """The name of what a partial was made of, or of an object's class, as models can spell it."""
    function = without_partial(function)
    name = str(getattr(function, "__name__", None) or type(function).__name__)
    spelt = legal(name.strip("<>"), _MOST, _NAME)  # the name of a lambda is <lambda>
    return spelt if spelt[0].isalpha() or spelt[0] == "_" else f"_{spelt}"[:_MOST]
