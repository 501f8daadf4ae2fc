"""Checks of two services over one place, as two processes have them."""

from __future__ import annotations

from newel.sessions.contract import SharedSessionStore
from newel.testing.sessions.place import Place, refused, same, text_event, texts
from newel_kernel import FencedError, StaleSessionError


def _two(place: Place) -> tuple[SharedSessionStore, SharedSessionStore]:
    one, two = place.service(), place.service()
    assert isinstance(one, SharedSessionStore)
    assert isinstance(two, SharedSessionStore)
    return one, two


async def a_new_service_reads_the_same(place: Place) -> None:
    """What a live view shows is what a restart would show."""
    one, two = _two(place)
    await one.create_session(**place.at(), state={"a": (1, 2)})
    view = await one.open(**place.at())
    assert view is not None
    await one.append_event(view, text_event("x", state={"t": (1, 2), "user:u": {"a": []}}))
    got = await two.get_session(**place.at())
    assert got is not None
    same((got.state, got.events, got.version), (view.state, list(view.events), view.version))
    same(got.last_update_time, view.last_update_time)


async def who_was_outrun_is_told_once(place: Place) -> None:
    """By then the view has been brought up to date, and the second try succeeds."""
    one, two = _two(place)
    mine = await one.create_session(**place.at())
    theirs = await two.get_session(**place.at())
    assert theirs is not None
    await two.append_event(theirs, text_event("theirs", state={"n": 1}))
    await refused(one.append_event(mine, text_event("mine")), StaleSessionError)
    same((texts(mine), mine.state), (["theirs"], {"n": 1}))
    await one.append_event(mine, text_event("mine"))
    same(texts(await two.get_session(**place.at())), ["theirs", "mine"])


async def out_of_band_disturbs_nobody(place: Place) -> None:
    """A run continues after the event that came in."""
    one, two = _two(place)
    await one.create_session(**place.at())
    view = await one.open(**place.at())
    assert view is not None
    await one.append_event(view, text_event("1"))
    await two.append_out_of_band(**place.at(), event=text_event("by the way", author="user"))
    await one.append_event(view, text_event("2"))
    same((texts(view), texts(await two.get_session(**place.at()))), (["1", "by the way", "2"],) * 2)


async def a_lease_is_one_owners(place: Place) -> None:
    """No other owner gets it while it lasts; it is free once it was given back."""
    one, two = _two(place)
    await one.create_session(**place.at())
    mine = await one.claim(**place.at(), owner="one", ttl=60)
    assert mine is not None, "a free session could not be claimed"
    same(await two.claim(**place.at(), owner="two", ttl=60), None)
    await one.renew(mine, ttl=60)
    await one.append_event(mine, text_event("mine"))
    await one.release(mine)
    theirs = await two.claim(**place.at(), owner="two", ttl=60)
    assert theirs is not None, "a released session could not be claimed"
    same(texts(theirs), ["mine"])
    same(await one.claim(**place.at("none"), owner="one", ttl=60), None)


async def a_late_holder_is_fenced(place: Place) -> None:
    """Once its lease has run out and another owner has it, its event and its state are not stored."""
    one, two = _two(place)
    await one.create_session(**place.at())
    late = await one.claim(**place.at(), owner="one", ttl=60)
    assert late is not None
    await one.renew(late, ttl=-1)  # it has run out by now
    now = await two.claim(**place.at(), owner="two", ttl=60)
    assert now is not None, "a session with an expired lease could not be claimed"
    await refused(one.append_event(late, text_event("late", state={"app:late": 1})), FencedError)
    await refused(one.renew(late, ttl=60), FencedError)
    await two.append_event(now, text_event("now"))
    got = await two.get_session(**place.at())
    same((texts(got), got and got.state), (["now"], {}))


SHARED_CHECKS = {
    check.__name__: check
    for check in (
        a_new_service_reads_the_same,
        who_was_outrun_is_told_once,
        out_of_band_disturbs_nobody,
        a_lease_is_one_owners,
        a_late_holder_is_fenced,
    )
}
