"""The context of code that only reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel.contexts.generics import DepsOut, OfDeps
from newel.contexts.stash_keys import CREDENTIALS
from newel_kernel import ReadonlyContext as KernelReadonlyContext

if TYPE_CHECKING:
    from newel_types import AuthCredential

__all__ = ["ReadonlyContext"]


class ReadonlyContext(OfDeps[DepsOut], KernelReadonlyContext):
    """The context of code that must not change anything: instruction providers and toolsets."""

    __slots__ = ()

    @property
    def deps(self) -> DepsOut:
        """What the caller gave the run as `deps`, or None; it is never stored."""
        deps: DepsOut = self._invocation_context.deps
        return deps

    def get_credential(self, key: str) -> AuthCredential | None:
        """The credential that this invocation holds under a `credential_key`, or None."""
        return self._invocation_context.stash[CREDENTIALS].get(key)
