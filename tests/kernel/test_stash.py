"""Stash: typed keys that cannot collide, values that are made when they are first read."""

from __future__ import annotations

import pytest

from newel_kernel import Key, Stash

COUNT = Key[int]("count")
NAMES = Key[list[str]]("names", list)


def test_two_keys_of_one_name_are_two_keys() -> None:
    other = Key[int]("count")
    stash = Stash()
    stash[COUNT] = 1
    assert other not in stash
    assert stash.get(other, None) is None
    assert stash[COUNT] == 1


def test_a_key_with_a_factory_makes_its_value_once() -> None:
    stash = Stash()
    assert NAMES not in stash
    stash[NAMES].append("a")
    assert stash[NAMES] == ["a"]


def test_a_key_without_one_does_not() -> None:
    with pytest.raises(KeyError, match="count"):
        Stash()[COUNT]


def test_a_copy_is_another_stash_with_the_same_values() -> None:
    other = Key[int]("another")
    stash = Stash()
    stash[COUNT], stash[other] = 1, 5
    copy = stash.copy()
    copy[COUNT] = 2
    assert (stash[COUNT], copy[COUNT], copy[other]) == (1, 2, 5)
    assert repr(copy) == "Stash(another, count)"
