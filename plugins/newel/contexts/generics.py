"""Type parameters of contexts and agents: for type checkers only, at run time `Agent[Deps, Out]` is `Agent`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import ParamSpec, TypeVar

#: What the caller of a run hands to its tools, callbacks and instructions, as a context gives it.
DepsOut = TypeVar("DepsOut", default=object, covariant=True)
#: The same, as an agent needs it: one that needs nothing runs with any.
DepsIn = TypeVar("DepsIn", default=object, contravariant=True)
#: What a run of an agent returns: the value of its output schema, or its text.
Out = TypeVar("Out", default=str, covariant=True)
#: The parameters and the result of the function behind a tool or a node.
P = ParamSpec("P", default=...)
R = TypeVar("R", default=object, covariant=True)

if TYPE_CHECKING:

    class OfDeps(Generic[DepsOut]):
        """Gives the deps of a run."""

    class OfAgent(Generic[DepsIn, Out]):
        """Needs deps, and gives an output."""

    class OfFunction(Generic[P, R]):
        """Is made of a function, and is called as that."""

else:

    class OfDeps:
        """A class whose parameters, as in ``Context[Deps]``, change nothing at run time."""

        __slots__ = ()

        def __class_getitem__(cls, parameters: Any) -> type:
            generic = getattr(cls, "__pydantic_generic_metadata__", None)  # of a subclass that is itself generic
            return super().__class_getitem__(parameters) if generic and generic["parameters"] else cls

    OfAgent = OfFunction = OfDeps
