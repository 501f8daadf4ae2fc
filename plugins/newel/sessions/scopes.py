"""Scopes: splits a state into the parts of the app, the user and the session, for the stores."""

from __future__ import annotations

from collections.abc import Mapping

from newel_kernel import Json


def split_by_scope(delta: Mapping[str, object]) -> tuple[Json, Json, Json]:
    """`delta` as (app, user, session) deltas without the prefixes; ``temp:`` keys are left out."""
    app: Json = {}
    user: Json = {}
    session: Json = {}
    for key, value in delta.items():
        if key.startswith("app:"):
            app[key[4:]] = value
        elif key.startswith("user:"):
            user[key[5:]] = value
        elif not key.startswith("temp:"):
            session[key] = value
    return app, user, session


def merge_scopes(app: Mapping[str, object], user: Mapping[str, object], session: Mapping[str, object]) -> Json:
    """One state of the three scopes, prefixes restored."""
    state = dict(session)
    for key, value in app.items():
        state["app:" + key] = value
    for key, value in user.items():
        state["user:" + key] = value
    return state
