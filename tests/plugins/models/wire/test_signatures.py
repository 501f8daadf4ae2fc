"""Signatures go to nobody but their owner."""

from __future__ import annotations

import pytest

from newel.models.wire.signatures import kept_for, owner_of, signature_of, signed
from newel_types import Part


def test_a_signature_is_its_owners() -> None:
    part = signed(Part(text="Hm", thought=True), "parrot", "sig", item="rs_1")
    assert signature_of(part, "parrot") == b"sig"
    assert kept_for(part, "parrot", "item") == "rs_1"
    assert signature_of(part, "gemini") is None
    assert kept_for(part, "gemini", "item") is None


@pytest.mark.parametrize(
    ("signature", "owner"),
    [(b"gemini:\xff\xfe", "gemini"), (b"EqQBCg+/=", "anthropic"), (b"gAAAAABx", "openai"), (None, None)],
)
def test_without_an_owner_the_signature_tells_it(signature: bytes | None, owner: str | None) -> None:
    assert owner_of(Part(text="Hm", thought_signature=signature)) == owner
