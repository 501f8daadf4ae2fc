"""auth_provider_conformance: checks that a provider of credentials gives them, and shows them to nobody else."""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from newel.auth.base_auth_provider import BaseAuthProvider
from newel.contexts.context import Context
from newel.contexts.invocation_context import InvocationContext
from newel.contexts.run_config import RunConfig
from newel.testing.interruptions import cancelled_at_each_await
from newel.testing.sessions.place import same
from newel.testing.store_checks import run_all
from newel_compose import compose_once
from newel_kernel import BaseAgent, Session
from newel_types import AuthConfig, AuthCredential, AuthScheme

MakeProvider: TypeAlias = Callable[[], BaseAuthProvider]
#: The fields of a credential that hold a secret.
_SECRETS = {"api_key", "token", "password", "access_token", "refresh_token", "client_secret", "private_key", "id_token"}


#: Seconds after which a provider is stuck.
_PATIENCE = 5


class _Case(NamedTuple):
    make: MakeProvider
    known: AuthConfig
    unknown: AuthConfig


def _context() -> Context:
    session = Session(id="s", app_name="app", user_id="u", state={"kept": 1})
    agent = BaseAgent(name="root")
    ctx = InvocationContext(None, session, agent, compose_once("standard"), RunConfig())  # type: ignore[arg-type]
    return Context(ctx, function_call_id="c")


async def _ask(provider: BaseAuthProvider, config: AuthConfig, context: Context | None = None) -> AuthCredential:
    given = await provider.get_auth_credential(config, context or _context())
    assert given is not None, f"no credential for {config.credential_key!r}, which `known` says there is"
    return AuthCredential.model_validate(given)


def _secrets(value: object, name: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _secrets(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from _secrets(inner, name)
    elif isinstance(value, str) and name in _SECRETS and len(value) > 3:
        yield value


def _plain(credential: AuthCredential) -> dict[str, Any]:
    return credential.model_dump(mode="json", exclude_none=True)


async def it_says_which_schemes_it_serves(case: _Case) -> None:
    """`supported_auth_schemes` are classes, and the known scheme's own class is among them: that is how it is found."""
    schemes = case.make().supported_auth_schemes
    assert schemes, "supported_auth_schemes is empty: the provider is never asked"
    for scheme in schemes:
        assert isinstance(scheme, type), f"{scheme!r} is not a class of AuthScheme"
        assert issubclass(scheme, AuthScheme), f"{scheme!r} is not a class of AuthScheme"
    kind = type(case.known.auth_scheme)
    assert kind in schemes, f"a provider is found by the exact class of a scheme: {kind.__name__} is not in {schemes}"


async def a_known_credential_is_given(case: _Case) -> None:
    """Ready for use: a credential with a secret in it, or an OAuth2 address at which the user consents."""
    credential = await _ask(case.make(), case.known)
    consent = credential.oauth2 is not None and credential.oauth2.auth_uri
    assert consent or list(_secrets(_plain(credential))), "the credential has no secret, and no address for consent"


async def what_it_does_not_have_is_none(case: _Case) -> None:
    """None, and no error: then the next provider is asked."""
    same(await case.make().get_auth_credential(case.unknown, _context()), None)


async def asking_changes_nothing(case: _Case) -> None:
    """Neither the question, nor the session, nor its state."""
    provider = case.make()
    for config in (case.known, case.unknown):
        context, copy = _context(), config.model_copy(deep=True)
        await provider.get_auth_credential(copy, context)
        same(copy.model_dump(mode="json"), config.model_dump(mode="json"))
        session = context.get_invocation_context().session
        same((session.state, list(session.events)), ({"kept": 1}, []))
        assert not context.actions.state_delta, "the provider writes to the session's state, where others read it"


async def a_credential_is_the_callers(case: _Case) -> None:
    """Changing it changes neither the next answer nor that of another task."""
    provider = case.make()
    first = await _ask(provider, case.known)
    before = _plain(first)
    first.api_key = "changed"
    for part in (first.http and first.http.credentials, first.oauth2):
        for name in _SECRETS & set(type(part).model_fields if part is not None else ()):
            setattr(part, name, "changed")
    same(_plain(await _ask(provider, case.known)), before)


async def tasks_that_ask_at_once_get_the_same(case: _Case) -> None:
    """Also while others ask for what there is not."""
    provider = case.make()
    calls = [_ask(provider, case.known) for _ in range(8)]
    unknown = [provider.get_auth_credential(case.unknown, _context()) for _ in range(8)]
    answers = await asyncio.gather(*calls, *unknown)
    expected = _plain(await _ask(provider, case.known))
    same([one and _plain(one) for one in answers], [expected] * 8 + [None] * 8)


async def a_cancelled_question_can_be_asked_again(case: _Case) -> None:
    """Wherever the cancellation came; the provider lets it pass."""
    provider = case.make()

    def ask() -> Coroutine[Any, Any, AuthCredential | None]:
        return provider.get_auth_credential(case.known, _context())

    ended = 0
    async for task in cancelled_at_each_await(ask):
        ended += not task.cancelled()
        try:
            await asyncio.wait_for(_ask(provider, case.known), _PATIENCE)
        except TimeoutError:
            raise AssertionError("after a cancellation the provider does not answer any more") from None
    assert ended == 1, "the provider swallows a cancellation"


async def a_secret_is_shown_to_nobody(case: _Case) -> None:
    """Not in a log, in what is printed, or in the provider's own representation."""
    provider = case.make()
    with _heard() as heard:
        credential = await _ask(provider, case.known)
        await provider.get_auth_credential(case.unknown, _context())
    shown = f"{heard()}\n{provider!r}\n{provider}"
    for secret in _secrets(_plain(credential)):
        assert secret not in shown, "a secret is in the log, in what was printed or in the provider's repr"


@contextmanager
def _heard() -> Iterator[Callable[[], str]]:
    """What is logged, at any level, and printed."""
    stream = io.StringIO()
    handler, root = logging.StreamHandler(stream), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with redirect_stdout(stream), redirect_stderr(stream):
            yield stream.getvalue
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def _in_two_loops(case: _Case) -> None:
    """A provider is made once, and asked from the event loop of each run."""
    provider = case.make()
    first, second = (_plain(asyncio.run(_ask(provider, case.known))) for _ in range(2))
    same(first, second)


CHECKS = {
    check.__name__: check
    for check in (
        it_says_which_schemes_it_serves,
        a_known_credential_is_given,
        what_it_does_not_have_is_none,
        asking_changes_nothing,
        a_credential_is_the_callers,
        tasks_that_ask_at_once_get_the_same,
        a_cancelled_question_can_be_asked_again,
        a_secret_is_shown_to_nobody,
    )
}


def auth_provider_checks(
    make: MakeProvider, *, known: AuthConfig, unknown: AuthConfig
) -> Mapping[str, Callable[[], None]]:
    """The checks of a provider of credentials by name: each is called without arguments; AssertionError if it fails.

    `make` makes a provider. It has a credential for `known`, and none for `unknown`, which has a scheme that it serves.
    """
    case = _Case(make, known, unknown)

    def runner(check: Callable[[_Case], Coroutine[Any, Any, None]]) -> Callable[[], None]:
        return lambda: asyncio.run(check(case))

    checks = {name: runner(check) for name, check in CHECKS.items()}
    return checks | {"it_works_in_every_event_loop": partial(_in_two_loops, case)}


def auth_provider_conformance(make: MakeProvider, *, known: AuthConfig, unknown: AuthConfig) -> None:
    """Run every check of `auth_provider_checks`; one AssertionError names all that fail."""
    run_all(auth_provider_checks(make, known=known, unknown=unknown), "auth provider")
