"""Secrecy: the secrets that an invocation has handed out, masked in what its tools return, write and raise."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Awaitable, Iterable, Iterator, MutableMapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

from newel.auth.errors import CredentialError
from newel.auth.masking import Walk
from newel.auth.settings import settings_of
from newel.contexts.stash_keys import SECRETS
from newel_kernel import Event, EventActions
from newel_types import SECRET, AuthCredential

if TYPE_CHECKING:
    from newel_kernel import Context, InvocationContext

#: A shorter text is hardly a secret, and masking it would hit ordinary words.
LEAST = 6
#: The fields that the runtime itself fills.
_OF_RUNTIME = {"actions", "node_info", "id", "timestamp", "invocation_id", "usage_metadata", "partial", "sparse_values"}
_OF_EVENTS = tuple(name for name in Event.field_names if name not in _OF_RUNTIME)
_OF_ACTIONS = tuple(name for name in EventActions.field_names if name != "state_delta")


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

    def mask(self, value: Any) -> Any:
        """`value` with every secret in it masked; the same object if it holds none."""
        return Walk(self._mask_text).mask(value)

    def mask_event(self, event: Event, state: MutableMapping[str, object]) -> None:
        """Mask what code has put onto a new event, which is not yet visible, and into the `state` it was written to."""
        for name in _OF_EVENTS:
            self._mask_field(event, name)
        if (actions := event.touched_actions) is not None:
            for name in _OF_ACTIONS:
                self._mask_field(actions, name)
            self._mask_writes(actions.state_delta, state)
        if event.touched_node_info is not None:
            event.touched_node_info = self.mask(event.touched_node_info)  # type: ignore[misc]  # the slot of `node_info`

    def _mask_field(self, owner: object, name: str) -> None:
        value = getattr(owner, name)
        masked = self.mask(value)
        if masked is not value:
            setattr(owner, name, masked)

    def _mask_writes(self, delta: MutableMapping[str, object], state: MutableMapping[str, object]) -> None:
        """Mask what an event writes, or has already written, to the `state`."""
        for key, value in list(delta.items()):
            if not isinstance(key, str) or key.startswith("temp:"):  # no store takes another key
                continue
            new_key, masked = self._mask_text(key), self.mask(value)
            if new_key is not key:
                del delta[key]
                state.pop(key, None)
            if masked is not value or new_key is not key:
                delta[new_key] = masked
                if masked is not None:
                    state[new_key] = masked

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
    """A text unchanged, in URLs and forms, in JSON, in Python's own notation, in base 16 and in base 64."""
    forms = {text, quote(text), quote(text, safe=""), quote_plus(text), repr(text)[1:-1]}
    data = text.encode("utf-8", "surrogatepass")
    forms |= {repr(data)[2:-1], data.decode("latin-1"), data.hex(), data.hex().upper()}
    forms |= {json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]} | _in_base64(text)
    return forms | set(_within_base64(data))


def _in_base64(text: str) -> set[str]:
    """The text in both alphabets, with and without padding; the padded form begins with the unpadded one."""
    data = text.encode("utf-8", "surrogatepass")
    forms = {b64encode(data).decode(), urlsafe_b64encode(data).decode()}
    return forms | {form.rstrip("=") for form in forms}


def _within_base64(data: bytes) -> Iterator[str]:
    """What all encodings of longer data have in common that hold `data` at one of the three offsets."""
    for offset in range(3):
        first = -(-offset * 8 // 6)
        last = (offset + len(data)) * 8 // 6
        for encode in (b64encode, urlsafe_b64encode):
            yield encode(bytes(offset) + data).decode()[first:last]


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
    if SECRETS not in ctx.stash:
        ctx.stash[SECRETS] = made = Secrets()
        ctx.outlets.append(made.mask_event)
    secrets = ctx.stash[SECRETS]
    secrets.add(credential.secrets())
    http, oauth2 = credential.http, credential.oauth2
    if http is not None and http.credentials.password:
        secrets.add_pair(http.credentials.username or "", http.credentials.password)
    if oauth2 is not None and oauth2.client_secret:
        secrets.add_pair(oauth2.client_id or "", oauth2.client_secret)
