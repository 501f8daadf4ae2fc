"""Call log: how the requests of recent model calls came to be, for developers. Their number is bounded."""

from __future__ import annotations

from newel.explanation import Recorder, record
from newel.explanation.recorder import Recording
from newel.runners import Runner
from newel.server.places import Place
from newel_kernel import Json, Session

#: The oldest go first.
_MOST = 200


class Calls:
    """The model calls of this process's runs, each with the steps that made its request."""

    def __init__(self) -> None:
        self._recorder = Recorder(_MOST)

    def watch(self, runner: Runner) -> None:
        """Note the calls of the runner's runs."""
        record(runner, self._recorder)

    def of_session(self, place: Place, after: int = 0, invocation_id: str | None = None) -> list[Json]:
        """The calls of a session, or of one invocation of it, after that number, the oldest first.

        An agent that runs as a tool has a session of its own.
        """
        return [
            {"number": one.number, **one.explanation().as_json()}
            for one in self.all_of(place)
            if one.number > after and invocation_id in (None, one.ctx.invocation_id)
        ]

    def find(self, place: Place, number: int) -> Recording | None:
        """The call of a session with this number; None: it is not among the latest."""
        found = (one for one in self._recorder.recordings if one.number == number)
        return next((one for one in found if _is_of(one.ctx.session, place)), None)

    def all_of(self, place: Place) -> list[Recording]:
        """The recordings of a session."""
        return [one for one in self._recorder.recordings if _is_of(one.ctx.session, place)]


def _is_of(session: Session, place: Place) -> bool:
    return (session.app_name, session.user_id, session.id) == (
        place["app_name"],
        place["user_id"],
        place["session_id"],
    )
