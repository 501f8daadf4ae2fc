"""BaseNode: the contract of a node of a workflow graph."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypeAlias, TypedDict

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from newel.errors.misspelt_fields import with_suggestions
from newel.workflow._retry_config import RetryConfig
from newel.workflow.coercion import fit_plain
from newel.workflow.context import NodeContext, Run
from newel.workflow.state_schema import Schema
from newel_kernel import Event
from newel_types import FieldSignature, OneLineErrors

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import UnionType

    from newel_types import Schema as JsonSchema

    NodeSchema: TypeAlias = type[Any] | UnionType | JsonSchema | Mapping[str, Any]
else:
    NodeSchema = object

START_NAME = "__START__"


class NodeFields(TypedDict, total=False):
    """The fields that every kind of node takes."""

    description: str
    rerun_on_resume: bool
    wait_for_output: bool
    timeout: float | None
    input_schema: NodeSchema | None
    output_schema: NodeSchema | None
    state_schema: Schema | None


def _identifier(name: str) -> str:
    if name and not name.isidentifier() and name != START_NAME:
        raise ValueError(f"invalid node name {name!r}: it must be a Python identifier")
    return name


class BaseNode(OneLineErrors):
    """A step of a graph: a name, and `_run_impl`, an async generator that a subclass implements.

    What it yields becomes events: an Event unchanged, a RequestInput as a question to the user, any other value as
    the node's output, at most one. None means no output.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", defer_build=True)

    #: A Python identifier, unique in the graph.
    name: Annotated[str, AfterValidator(_identifier)]
    #: What the node does, for people and drawings.
    description: str = ""
    #: Once its questions are answered: run it again, with the answers in `ctx.resume_inputs`; else they are its output.
    rerun_on_resume: bool = False
    #: A run without output triggers nothing: the node waits for its next trigger.
    wait_for_output: bool = False
    #: How it is tried again when it failed; None: it is not.
    retry_config: RetryConfig | None = None
    #: Seconds that one attempt may take.
    timeout: float | None = Field(default=None, gt=0)
    #: What the input must fit: a pydantic class, an annotation that pydantic knows, or a JSON schema (not checked).
    input_schema: NodeSchema | None = None
    #: What the output must fit, in the same forms.
    output_schema: NodeSchema | None = None
    #: A pydantic class: the state keys that the node, and those in it, may write.
    state_schema: Schema | None = None

    #: Whether it runs once, after all its predecessors, on the output of each.
    _requires_all_predecessors: ClassVar[bool] = False
    #: Its nodes' events bear its name.
    __newel_is_graph__: ClassVar[bool] = False

    __signature__: ClassVar[Any] = FieldSignature()

    @classmethod
    def __pydantic_on_complete__(cls) -> None:
        cls.__signature__ = FieldSignature()  # pydantic has set its own

    @model_validator(mode="wrap")
    @classmethod
    def __newel_suggest_fields__(cls, data: object, handler: Callable[[object], Self]) -> Self:
        return with_suggestions(cls, data, handler)

    @property
    def __newel_converses__(self) -> bool:
        """Whether it talks with the user. A run that says something and has no output then waits for a message."""
        return False

    @property
    def __newel_starts_nodes__(self) -> bool:
        """Whether its code may run other nodes while it waits itself. Then it needs a task."""
        return True

    async def run(self, *, ctx: NodeContext, node_input: object) -> AsyncGenerator[object, None]:
        """What the node yields for `node_input`, which is validated by the input schema first."""
        async with aclosing(self._run_impl(ctx=ctx, node_input=self._validate_input_data(node_input))) as items:
            async for item in items:
                yield item

    def _run_impl(self, *, ctx: NodeContext, node_input: Any) -> AsyncGenerator[object, None]:
        """What the node does; a subclass implements it as an async generator."""
        raise NotImplementedError(f"{type(self).__name__} does not implement _run_impl")

    def _validate_input_data(self, value: object) -> object:
        """`value` as the input schema asks; pydantic's ValidationError if it does not fit."""
        return fit_plain(value, self.input_schema)

    def _validate_output_data(self, value: object) -> object:
        """`value` as the output schema asks; pydantic's ValidationError if it does not fit."""
        return fit_plain(value, self.output_schema)

    def __newel_recall__(self, event: Event, path: str) -> object:
        """The output that a committed `event` of the node at `path`, or of one in it, stands for."""
        return event.output

    async def __newel_events__(self, run: Run) -> AsyncGenerator[Event, None]:
        """The events of one attempt; the outcome is noted on `run`."""
        async with aclosing(self.run(ctx=run.context, node_input=run.input)) as items:
            async for item in items:
                event = run.take(item)
                if event is not None:
                    yield event


#: Where a graph begins; constructed, so that no import builds the model.
START = BaseNode.model_construct(name=START_NAME)
