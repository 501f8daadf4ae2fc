"""Secrecy: the secrets that an invocation has handed out, masked in what its tools return, write and raise."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Awaitable, Iterable, MutableMapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

from newel.auth.errors import CredentialError
from newel.auth.settings import settings_of
from newel.contexts.stash_keys import SECRETS
from newel_types import SECRET, AuthCredential, Record

if TYPE_CHECKING:
    from newel_kernel import Context, Event, InvocationContext

#: A shorter text is hardly a secret, and masking it would hit ordinary words.
LEAST = 6
_DEEPEST = 64
_OF_EVENTS = ("content", "output", "error_message", "custom_metadata")


class Secrets:
    """The secret texts of one invocation."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def add(self, texts: Iterable[str]) -> None:
        """Add texts, and the forms that the usual encodings give them."""
        forms = {form for text in texts if len(text) >= LEAST for form in _forms(text)}
        self._texts = sorted(forms.union(self._texts), key=len, reverse=True)

    def add_pair(self, user: str, password: str) -> None:
        """Add the form in which basic authentication sends the two."""
        if len(password) >= LEAST:
            self._texts = sorted(_in_base64(f"{user}:{password}").union(self._texts), key=len, reverse=True)

    def mask(self, value: Any, depth: int = _DEEPEST) -> Any:
        """`value` with every secret in it masked; the same object if it holds none."""
        if isinstance(value, str):
            return self._mask_text(value)
        if isinstance(value, bytes):
            text = value.decode("latin-1")
            masked = self._mask_text(text)
            return value if masked is text else masked.encode("latin-1")
        if depth == 0:
            return value
        if isinstance(value, AuthCredential):
            return value.sealed()
        if isinstance(value, Record):
            fields = ((name, getattr(value, name)) for name in value.field_names)
            changed = {name: new for name, inner in fields if (new := self.mask(inner, depth - 1)) is not inner}
            return value.model_copy(update=changed) if changed else value
        if isinstance(value, dict):
            pairs = [(self.mask(key, depth - 1), self.mask(inner, depth - 1)) for key, inner in value.items()]
            same = all(a is k and b is v for (a, b), (k, v) in zip(pairs, value.items(), strict=True))
            return value if same else dict(pairs)
        if isinstance(value, (list, tuple)):
            items = [self.mask(inner, depth - 1) for inner in value]
            if all(a is b for a, b in zip(items, value, strict=True)):
                return value
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        return value

    def mask_event(self, event: Event, state: MutableMapping[str, object]) -> None:
        """Mask what code has put onto a new event, which is not yet visible, and into the `state` it was written to."""
        for name in _OF_EVENTS:
            value = getattr(event, name)
            masked = self.mask(value)
            if masked is not value:
                setattr(event, name, masked)
        self.mask_writes(event, state)

    def mask_writes(self, event: Event, state: MutableMapping[str, object]) -> None:
        """Mask what an event writes, or has already written, to the `state`."""
        actions = event.touched_actions
        for key, value in list(actions.state_delta.items()) if actions is not None else ():
            if key.startswith("temp:"):
                continue
            masked = self.mask(value)
            if masked is not value:
                state[key] = actions.state_delta[key] = masked  # type: ignore[union-attr]

    def mask_error(self, error: Exception) -> Exception:
        """`error` with the secrets masked in its arguments and in those of its causes and contexts.

        If a secret still shows (in a text made from other data), another error is returned, with only the type's name.
        """
        clean, ids = True, set()
        waiting: list[BaseException | None] = [error]
        while waiting:
            one = waiting.pop()
            if one is None or id(one) in ids:
                continue
            ids.add(id(one))
            clean = self._mask_one(one) and clean
            waiting += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]
        if clean:
            return error
        return CredentialError(f"{type(error).__name__}: its message holds a credential and is left out")

    def _mask_one(self, error: BaseException) -> bool:
        masked = self.mask(error.args)
        if masked is not error.args:
            error.args = masked
        if notes := getattr(error, "__notes__", None):
            notes[:] = self.mask(notes)
        try:
            text = str(error)
        except Exception:  # noqa: BLE001 - a plugin boundary: a foreign __str__
            return False
        return self.mask(text) is text

    def _mask_text(self, text: str) -> str:
        for secret in self._texts:
            if secret in text:
                text = text.replace(secret, SECRET)
        return text


def _forms(text: str) -> set[str]:
    """A text unchanged, in URLs and forms, in JSON, in Python's own notation, and in base 64."""
    forms = {text, quote(text), quote(text, safe=""), quote_plus(text), repr(text)[1:-1]}
    return forms | {json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]} | _in_base64(text)


def _in_base64(text: str) -> set[str]:
    """The text in both alphabets, with and without padding; the padded form begins with the unpadded one."""
    data = text.encode("utf-8", "surrogatepass")
    forms = {b64encode(data).decode(), urlsafe_b64encode(data).decode()}
    return forms | {form.rstrip("=") for form in forms}


def remember(context: Context, credential: AuthCredential) -> None:
    """Note the secrets of a credential that this context's caller gets."""
    note(context.get_invocation_context(), credential)
    _ = context.actions  # marks the call's result as one to mask


async def guarded(context: Context, result: Awaitable[object]) -> object:
    """The result or the error of a tool that got a credential, with the invocation's secrets masked."""
    secrets = context.get_invocation_context().stash.get(SECRETS, None)
    if secrets is None:
        return await result
    try:
        return secrets.mask(await result)
    except Exception as error:
        failure = secrets.mask_error(error)
        if failure is error:
            raise
    raise failure  # here, so that the original error is not chained


def note(ctx: InvocationContext, credential: AuthCredential) -> None:
    """Note the secrets of a credential, unless the distribution shows secrets."""
    if settings_of(ctx).recorded:
        return
    secrets = ctx.stash.setdefault(SECRETS, Secrets())
    secrets.add(credential.secrets())
    http, oauth2 = credential.http, credential.oauth2
    if http is not None and http.credentials.password:
        secrets.add_pair(http.credentials.username or "", http.credentials.password)
    if oauth2 is not None and oauth2.client_secret:
        secrets.add_pair(oauth2.client_id or "", oauth2.client_secret)
