"""Fusion: two rankings become one, by what each of them is worth."""

from __future__ import annotations

from newel.memory.fusion import WordRanking, depth, fused, weight


def order(words: dict[int, float], whole: float, near: dict[int, float], most: int = 10) -> list[int]:
    ranked = sorted(words.items(), key=lambda one: -one[1])
    return [number for number, _ in fused(WordRanking(ranked, whole), list(near.items()), most)]


def test_a_rare_word_decides_among_entries_that_are_equally_near() -> None:
    assert order({7: 6.0, 1: 2.0, 2: 2.0}, 8.0, {1: 0.7, 2: 0.69, 7: 0.55}) == [7, 1, 2]


def test_a_word_of_a_question_in_other_words_does_not() -> None:
    assert order({7: 6.0}, 40.0, {1: 0.5, 7: 0.05}) == [1, 7]


def test_a_question_that_is_its_rare_word_is_answered_by_it_however_near_others_are() -> None:
    assert order({7: 6.0}, 6.1, {1: 0.9, 2: 0.8, 7: -0.1}) == [7, 1, 2]


def test_where_only_one_of_both_says_something_it_decides() -> None:
    assert order({}, 0.0, {1: 0.2, 2: 0.5, 3: -0.4}) == [2, 1, 3]
    assert order({1: 2.0, 2: 5.0}, 5.0, {}) == [2, 1]
    assert order({1: 2.0, 2: 5.0}, 5.0, {1: -0.1, 2: -0.2, 3: -0.1}) == [2, 1, 3]


def test_of_equal_entries_the_nearer_and_then_the_newest_is_first() -> None:
    assert order({}, 0.0, {1: -0.2, 2: -0.1, 3: -0.2}) == [2, 3, 1]
    assert order({4: 0.0, 5: 0.0}, 0.0, {}, most=1) == [5]


def test_an_entry_beyond_a_full_ranking_may_have_what_its_last_one_has() -> None:
    full = dict.fromkeys(range(1, depth(10) + 1), 3.0)
    far = dict.fromkeys(full, 0.3)
    assert order(full, 6.0, {**far, 99: 0.31})[0] == 99
    full.popitem()
    assert order(full, 6.0, {**far, 99: 0.31})[0] != 99


def test_a_rare_word_weighs_many_usual_ones_and_none_weighs_nothing() -> None:
    assert weight(1, 2000) > 6 * weight(800, 2000) > 0
    assert weight(0, 0) > 0
    assert weight(9, 3) > 0
