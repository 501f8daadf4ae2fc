"""FunctionTool: a Python function as a tool."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from newel.contexts.context import full
from newel.tools.function_arguments import Arguments
from newel.tools.function_schema import Shape, document, parameters_schema, shape_of, split_document
from newel_kernel import BaseTool, ConfigurationError, Context, Effect, Json
from newel_types import ATOMS, FunctionDeclaration


class FunctionTool(BaseTool):
    """A function, a coroutine function or a callable object; its signature is the schema, its docstring the words.

    A parameter annotated with the Context (or named `tool_context`) gets the context and is not shown to the
    model. With `require_confirmation` (true, or a function of the arguments that says so) the user is asked first.
    `describe_parameters` moves the docstring's parameter descriptions into the schema.
    """

    def __init__(
        self,
        func: Callable[..., object] | None = None,
        *,
        fn: Callable[..., object] | None = None,
        require_confirmation: bool | Callable[..., object] = False,
        describe_parameters: bool = False,
        effect: Effect | str | None = None,
    ) -> None:
        function = func or fn
        if function is None or not callable(function):
            raise ConfigurationError(f"FunctionTool needs a callable, not {function!r}")
        self.func = function
        text = document(function)
        prose, self._descriptions = split_document(text) if describe_parameters else (text, {})
        super().__init__(
            name=getattr(function, "__name__", None) or type(function).__name__, description=prose, effect=effect
        )
        self._require_confirmation = require_confirmation
        self._shape: Shape | None = None
        self._declaration: FunctionDeclaration | None = None
        self._arguments: Arguments | None = None

    @property
    def origin(self) -> str:
        """The function's qualified name."""
        name = getattr(self.func, "__qualname__", type(self.func).__qualname__)
        return f"{getattr(self.func, '__module__', '?')}.{name}"

    @property
    def shape(self) -> Shape:
        """The function's signature, read once."""
        if self._shape is None:
            self._shape = shape_of(self.func)
        return self._shape

    def _get_declaration(self) -> FunctionDeclaration:
        if self._declaration is None or self._declaration.name != self.name:
            schema = parameters_schema(self.name, self.shape, self._descriptions)
            self._declaration = FunctionDeclaration(
                name=self.name, description=self.description, parameters_json_schema=schema
            )
        return self._declaration

    async def run_async(self, *, args: Json, tool_context: Context) -> object:
        """Coerce the arguments and call the function; a missing or wrong one is an error result for the model."""
        if self._arguments is None:
            self._arguments = Arguments(self.name, self.shape)
        # What the callbacks after the call see must not hold the context.
        values = args if self.shape.context_name is None else dict(args)
        if not self._arguments.fit(args):
            settings = tool_context.get_invocation_context().composition.settings.get("function_tools")
            strict = bool(getattr(settings, "validate_arguments", False))
            values, error = self._arguments.prepare(args, strict=strict)
            if error is not None:
                return {"error": error}
        if self._require_confirmation and (refusal := await self._confirm(values, tool_context)) is not None:
            return refusal
        if self.shape.context_name is not None:
            values[self.shape.context_name] = tool_context
        if tool_context.call_sync is not None and not self.shape.is_async:
            result = tool_context.call_sync(self.func, values)
        else:
            result = self.func(**values)
        return await result if result.__class__ not in ATOMS and inspect.isawaitable(result) else result

    def misfit(self, args: Json) -> str | None:
        """Why the function cannot take `args`, or None; every value must fit its annotation."""
        return Arguments(self.name, self.shape).prepare(args, strict=True)[1]

    async def _confirm(self, values: Json, tool_context: Context) -> Json | None:
        """None where the call may go ahead, else the result that says why not (S0 §6.7)."""
        needed: object = self._require_confirmation
        if callable(needed):
            context_name = shape_of(needed).context_name
            needed = needed(**values, **({context_name: tool_context} if context_name is not None else {}))
            if inspect.isawaitable(needed):
                needed = await needed
        if not needed:
            return None
        context = full(tool_context)
        confirmation = context.tool_confirmation
        if confirmation is None:
            context.request_confirmation(
                hint=(
                    f"Please approve or reject the tool call {self.name}() by responding with a FunctionResponse "
                    f"with an expected ToolConfirmation payload."
                )
            )
            tool_context.actions.skip_summarization = True
            return {"error": "This tool call requires confirmation, please approve or reject."}
        return None if confirmation.confirmed else {"error": "This tool call is rejected."}
