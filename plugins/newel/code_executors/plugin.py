"""The plugin of code executors: the names by which an agent file asks for one."""

from __future__ import annotations

from collections.abc import Callable

from newel import code_executors
from newel.code_executors import kinds
from newel.code_executors.kinds import CodeExecutor
from newel_kernel import Descriptor, Kind, hookimpl


def _create(class_name: str) -> Callable[..., object]:
    return lambda **settings: getattr(code_executors, class_name)(**settings)


@hookimpl
def register_kinds() -> list[Kind[Descriptor]]:
    """The executors of code."""
    return [Kind(kinds.CodeExecutor, kinds.register_code_executors)]


@hookimpl
def register_code_executors() -> list[CodeExecutor]:
    """Each class is imported when an executor is made."""
    return [
        CodeExecutor(
            name="sandbox",
            create=_create("SandboxCodeExecutor"),
            description="an interpreter without files, network or processes; the recommended one (extra 'sandbox')",
        ),
        CodeExecutor(
            name="built_in",
            create=_create("BuiltInCodeExecutor"),
            description="the model runs its code itself (Gemini 2 and later)",
        ),
        CodeExecutor(
            name="container",
            create=_create("ContainerCodeExecutor"),
            description="python3 in a Docker container (extra 'container')",
        ),
        CodeExecutor(
            name="unsafe_local",
            create=_create("UnsafeLocalCodeExecutor"),
            description="a process on this machine with your rights; only with allow_unsafe: true",
        ),
    ]
