"""FunctionTool: a Python function as a tool."""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Self

from newel.models.wire.names import legal
from newel.policies.thread_pool import Pool
from newel.policies.time_limits import within
from newel.tools.confirmation import Needed, refusal
from newel.tools.docstrings import document, split_document
from newel.tools.function_arguments import Arguments
from newel.tools.function_schema import parameters_schema
from newel.tools.function_signature import Call, Shape, shape_of, without_partial
from newel_kernel import BaseTool, ConfigurationError, Context, Effect, Json
from newel_types import ATOMS, FunctionDeclaration

#: Calls a synchronous function in place, or in a thread: then the result is to be awaited.
SyncCall = Callable[[Callable[..., object], Json], object]
_NAME = re.compile(r"[A-Za-z0-9_.:-]")
_MOST = 128
#: The threads for synchronous functions with a timeout: in the event loop nothing could end them.
_THREADS = Pool()


class FunctionTool(BaseTool):
    """A function, a coroutine function or a callable object; its signature is the schema, its docstring the text.

    A parameter annotated with the Context (or named `tool_context`) gets the context and is not shown to the
    model. With `require_confirmation` (true, or a function of the arguments that says so) the user is asked first.
    `describe_parameters` tells the model all of the signature: the docstring's texts on parameters go into the schema,
    and so do the metadata of annotations, ``*args`` and ``**kwargs``. If it is None, the distribution decides.
    `timeout` is in seconds (0: none). The policy `tool_timeout`, which `standard` has, enforces it; without the policy
    the tool does, and a synchronous function with a timeout runs in a thread.
    """

    def __init__(
        self,
        func: Callable[..., object] | None = None,
        *,
        fn: Callable[..., object] | None = None,
        require_confirmation: Needed = False,
        describe_parameters: bool | None = None,
        effect: Effect | str | None = None,
        name: str | None = None,
        timeout: float | None = None,
    ) -> None:
        function = func or fn
        if function is None or not callable(function):
            raise ConfigurationError(f"FunctionTool needs a callable, not {function!r}")
        self.func = function
        self._document = document(function)
        super().__init__(name=name or _name(function), description=self._document, effect=effect)
        if timeout is not None:
            self.timeout = timeout
        self._require_confirmation = require_confirmation
        self._undecided = describe_parameters is None
        self._whole = False
        self._descriptions: dict[str, str] = {}
        self._shape: Shape | None = None
        self._declaration: FunctionDeclaration | None = None
        self._arguments: Arguments | None = None
        self._call: Callable[..., object] | None = None
        #: Seconds that a call may take, if the distribution has no policy that enforces them.
        self._limit: float = 0
        #: Calls a synchronous function with a timeout, if the distribution has no threads for it.
        self._call_sync: SyncCall | None = None
        #: Further arguments of this call, which the model neither sees nor sets.
        self._injected: Json = {}
        if describe_parameters:
            self._describe(whole=True)

    def rename(self, name: str) -> None:
        """Give the tool another name; everything that carries the old one is made again."""
        self.name = name
        self._declaration = self._arguments = self._call = None

    def confirm_calls(self, needed: Needed) -> None:
        """Ask the user before each call, or before those for which `needed` is true."""
        self._require_confirmation = needed

    def configure(self, settings: Mapping[str, object]) -> None:
        """Describe the parameters as the distribution's `settings` say, unless the tool has its own choice."""
        whole = bool(getattr(settings.get("function_tools"), "describe_parameters", False))
        if self._undecided and whole is not self._whole:
            self._describe(whole)
        limit = getattr(self, "timeout", None) or 0
        self._limit = 0 if "tool_timeout" in settings else limit
        self._call_sync = _THREADS.call if limit else None

    def _describe(self, whole: bool) -> None:
        prose, described = split_document(self._document)
        before, after = (self._document, prose) if whole else (prose, self._document)
        self.description = self.description.replace(before, after, 1)  # others may have added more to it
        self._whole, self._descriptions = whole, described if whole else {}
        self._shape = self._declaration = self._arguments = self._call = None

    @property
    def origin(self) -> str:
        """The function's qualified name."""
        name = getattr(self.func, "__qualname__", type(self.func).__qualname__)
        return f"{getattr(self.func, '__module__', '?')}.{name}"

    @property
    def shape(self) -> Shape:
        """The function's signature, read once."""
        if self._shape is None:
            self._shape = shape_of(self.func, whole=self._whole)
        return self._shape

    def _get_declaration(self) -> FunctionDeclaration:
        if self._declaration is None or self._declaration.name != self.name:
            schema = parameters_schema(self.name, self.shape, self._descriptions, whole=self._whole)
            self._declaration = FunctionDeclaration(
                name=self.name, description=self.description, parameters_json_schema=schema
            )
        return self._declaration

    async def run_async(self, *, args: Json, tool_context: Context) -> object:
        """Coerce the arguments and call the function; a missing or wrong one is an error result for the model."""
        arguments = self._arguments or self._read_arguments()
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
        shape = self._shape or self.shape
        if shape.context_name is not None:  # in a new dict: the one that the callbacks see must not hold it
            values = {**values, shape.context_name: tool_context}
        if self._injected:
            values = {**values, **self._injected}
        function = self._call or self._read_call()
        call_sync = tool_context.call_sync or self._call_sync
        result = call_sync(function, values) if call_sync is not None and not shape.is_async else function(**values)
        if self._limit and inspect.isawaitable(result):
            return await within(self._limit, result, self.name)
        return await result if result.__class__ not in ATOMS and inspect.isawaitable(result) else result

    def with_arguments(self, values: Json) -> Self:
        """A copy of the tool that passes further `values`, which the model neither sees nor sets."""
        tool = copy.copy(self)
        tool._injected = {**self._injected, **values}
        return tool

    def _read_call(self) -> Callable[..., object]:
        """The callable for the function; it takes keywords."""
        self._call = self.func if self.shape.signature is None else Call(self.func, self.shape.signature)
        return self._call

    def _read_arguments(self) -> Arguments:
        shape = self.shape
        if self._whole:  # the model must not set what was not declared
            schema = self._get_declaration().parameters_json_schema or {}
            parameters = {name: p for name, p in shape.parameters.items() if name in schema.get("properties", ())}
            reserved = shape.reserved | shape.parameters.keys() - parameters.keys()
            shape = replace(shape, parameters=parameters, reserved=reserved)
        self._arguments = Arguments(self.name, shape)
        return self._arguments

    def misfit(self, args: Json) -> str | None:
        """Why the function cannot take `args`, or None; every value must fit its annotation."""
        return self._read_arguments().prepare(args, strict=True)[1]


def _name(function: Callable[..., object]) -> str:
    """The name of what a partial was made of, or of an object's class, as models can spell it."""
    function = without_partial(function)
    name = str(getattr(function, "__name__", None) or type(function).__name__)
    spelt = legal(name.strip("<>"), _MOST, _NAME)  # the name of a lambda is <lambda>
    return spelt if spelt[0].isalpha() or spelt[0] == "_" else f"_{spelt}"[:_MOST]
