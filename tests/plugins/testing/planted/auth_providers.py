"""Planted bugs of providers of credentials."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from tests.plugins.testing.planted import Bugs

from newel.auth import AuthConfig, AuthCredential, BaseAuthProvider
from newel.auth.auth_schemes import APIKey
from newel.contexts.context import Context
from newel_types import AuthScheme

BUGS = Bugs()
KEY = "open-sesame-123"


def config(name: str) -> AuthConfig:
    return AuthConfig(auth_scheme=APIKey(**{"in": "header", "name": "X-Key"}), credential_key=name)


class Vault(BaseAuthProvider):
    """A right provider: it has one key, and takes a moment to find it."""

    supported_auth_schemes = (APIKey,)

    async def get_auth_credential(self, auth_config: AuthConfig, context: Context) -> AuthCredential | None:
        await asyncio.sleep(0)
        return self.found(auth_config)

    def found(self, auth_config: AuthConfig) -> AuthCredential | None:
        if auth_config.credential_key != "known":
            return None
        return AuthCredential(auth_type="apiKey", api_key=KEY)


@BUGS.caught_by("it_says_which_schemes_it_serves")
class NamesTheBaseOfSchemes(Vault):
    supported_auth_schemes = (AuthScheme,)


@BUGS.caught_by("a_known_credential_is_given")
class GivesAnEmptyCredential(Vault):
    def found(self, auth_config: AuthConfig) -> AuthCredential | None:
        found = super().found(auth_config)
        return found and AuthCredential(auth_type="apiKey")


@BUGS.caught_by("what_it_does_not_have_is_none")
class RaisesForTheUnknown(Vault):
    def found(self, auth_config: AuthConfig) -> AuthCredential | None:
        return {"known": AuthCredential(auth_type="apiKey", api_key=KEY)}[auth_config.credential_key]


@BUGS.caught_by("asking_changes_nothing")
class KeepsTheCredentialInTheState(Vault):
    async def get_auth_credential(self, auth_config: AuthConfig, context: Context) -> AuthCredential | None:
        found = await super().get_auth_credential(auth_config, context)
        if found is not None:
            context.state["credential"] = found.api_key
        return found


@BUGS.caught_by("asking_changes_nothing")
class FillsInTheQuestion(Vault):
    def found(self, auth_config: AuthConfig) -> AuthCredential | None:
        auth_config.exchanged_auth_credential = super().found(auth_config)
        return auth_config.exchanged_auth_credential


@BUGS.caught_by("a_credential_is_the_callers")
class GivesItsOwn(Vault):
    own = AuthCredential(auth_type="apiKey", api_key=KEY)

    def found(self, auth_config: AuthConfig) -> AuthCredential | None:
        return self.own if auth_config.credential_key == "known" else None


@BUGS.caught_by("tasks_that_ask_at_once_get_the_same")
class RemembersTheLastQuestion(Vault):
    async def get_auth_credential(self, auth_config: AuthConfig, context: Context) -> AuthCredential | None:
        self.asked = auth_config
        await asyncio.sleep(0)
        return self.found(self.asked)


@BUGS.caught_by("a_cancelled_question_can_be_asked_again")
class SwallowsCancellations(Vault):
    async def get_auth_credential(self, auth_config: AuthConfig, context: Context) -> AuthCredential | None:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0)
        return self.found(auth_config)


@BUGS.caught_by("a_cancelled_question_can_be_asked_again")
class StaysLocked(Vault):
    def __init__(self) -> None:
        self.free = True

    async def get_auth_credential(self, auth_config: AuthConfig, context: Context) -> AuthCredential | None:
        while not self.free:
            await asyncio.sleep(0.01)
        self.free = False
        found = await super().get_auth_credential(auth_config, context)
        self.free = True
        return found


@BUGS.caught_by("a_secret_is_shown_to_nobody")
class LogsWhatItFound(Vault):
    def found(self, auth_config: AuthConfig) -> AuthCredential | None:
        found = super().found(auth_config)
        logging.getLogger("vault").debug("found %r", found and found.api_key)
        return found


@BUGS.caught_by("it_works_in_every_event_loop")
class HoldsALock(Vault):
    """Its client belongs to the event loop that asked first."""

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None

    async def get_auth_credential(self, auth_config: AuthConfig, context: Context) -> AuthCredential | None:
        self.loop = self.loop or asyncio.get_running_loop()
        if self.loop is not asyncio.get_running_loop():
            raise RuntimeError("Event loop is closed")
        return await super().get_auth_credential(auth_config, context)
