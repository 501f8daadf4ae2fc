"""The context of code that only reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel.contexts.stash_keys import CREDENTIALS
from newel_kernel import ReadonlyContext as KernelReadonlyContext

if TYPE_CHECKING:
    from newel_types import AuthCredential

__all__ = ["ReadonlyContext"]


class ReadonlyContext(KernelReadonlyContext):
    """The context of code that must not change anything: instruction providers and toolsets."""

    __slots__ = ()

    def get_credential(self, key: str) -> AuthCredential | None:
        """The credential that this invocation holds under a `credential_key`, or None."""
        return self._invocation_context.stash[CREDENTIALS].get(key)
