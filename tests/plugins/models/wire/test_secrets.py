"""Secrets in texts: masked once each, the longer ones first, and words stay readable."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from newel.models.wire.secrets import MASK, mask

_KEYS = st.text("abk-_1", min_size=4, max_size=8)


@given(st.text("abk-_1 \n", max_size=40), st.lists(_KEYS, max_size=3))
def test_no_secret_stays_and_the_mask_is_not_masked(text: str, secrets: list[str]) -> None:
    masked = mask(text, secrets)
    assert not any(secret in part for secret in secrets for part in masked.split(MASK))
    assert mask(masked, secrets) == masked or any(secret in MASK for secret in secrets)


def test_a_key_within_another_is_masked_with_it() -> None:
    assert mask("sk-1234-5678", ("sk-1234", "sk-1234-5678")) == MASK


def test_a_short_secret_is_masked_as_a_word_only() -> None:
    assert mask("key 'k' is unknown; check the key", ("k",)) == f"key '{MASK}' is unknown; check the key"


def test_quoted_forms_are_masked() -> None:
    assert mask(r"header b'secret\n' and 'secret\n'", ("secret\n",)) == f"header b'{MASK}' and '{MASK}'"
