"""AuthenticatedFunctionTool: a function whose parameter `credential` is filled in, and not shown to the model."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace

from newel.auth.credential_manager import CredentialManager
from newel.auth.secrecy import guarded
from newel.contexts.context import full
from newel.tools.base_authenticated_tool import PENDING
from newel.tools.function_signature import Shape
from newel.tools.function_tool import FunctionTool, read_arguments
from newel_kernel import Json, ToolContext
from newel_types import AuthConfig

CREDENTIAL = "credential"


class AuthenticatedFunctionTool(FunctionTool):
    """A FunctionTool that gets its credential before the call, or asks the user for it.

    Meanwhile the model gets `response_for_auth_required`. Without an `auth_config` the credential is None.
    """

    def __init__(
        self,
        func: Callable[..., object] | None = None,
        *,
        fn: Callable[..., object] | None = None,
        auth_config: AuthConfig | None = None,
        response_for_auth_required: Json | str | None = None,
    ) -> None:
        super().__init__(func, fn=fn)
        self._auth_config = auth_config
        self._credentials_manager = CredentialManager(auth_config) if auth_config is not None else None
        self._response_for_auth_required = response_for_auth_required
        self._takes_credential: bool | None = None

    @property
    def __newel_shape__(self) -> Shape:
        """The function's signature as a model may see it."""
        if self.__newel__.shape is None:
            whole = super().__newel_shape__
            self._takes_credential = CREDENTIAL in whole.parameters
            parameters = {name: parameter for name, parameter in whole.parameters.items() if name != CREDENTIAL}
            self.__newel__.shape = replace(whole, parameters=parameters, reserved=whole.reserved | {CREDENTIAL})
        return self.__newel__.shape

    async def run_async(self, *, args: Json, tool_context: ToolContext) -> object:
        """The function's result; or, once the user was asked for the credential, the response that says so."""
        manager, credential = self._credentials_manager, None
        if manager is not None:
            credential = await manager.get_or_request(full(tool_context))
            if credential is None:
                return self._response_for_auth_required or PENDING
        if self.__newel__.arguments is None:
            read_arguments(self)  # here, because the copy below lives for one call
        call = copy.copy(self)  # with its credential, for this call only
        if self._takes_credential:
            call.__newel__.injected = {CREDENTIAL: credential}
        return await guarded(tool_context, FunctionTool.run_async(call, args=args, tool_context=tool_context))
