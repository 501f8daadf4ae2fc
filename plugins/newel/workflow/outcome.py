"""Outcome: the result of an attempt at a node, so far."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class Outcome:
    """An output, of which there is one at most, a route, and questions that are open."""

    # Class attributes, because most attempts set two of them, and there is an outcome for every step of a graph.

    output: object = None
    #: Whether there is an output; it may be None.
    produced = False
    #: Whether the output was only set, so that an event is still to carry it; the route likewise.
    unsent_output = False
    unsent_route = False
    route: object = None
    #: The ids of the questions that are open.
    interrupts: Sequence[str] = ()
    #: Whether a run that the node's code started gives the output.
    delegated = False

    def give(self, output: object) -> None:
        """Note the output."""
        self.output = output
        self.produced = True

    def set_route(self, route: object) -> None:
        """Note a route that no event carries yet."""
        self.route = route
        self.unsent_route = route is not None

    def ask(self, questions: Iterable[str]) -> None:
        """Note questions that are open, by their ids."""
        self.interrupts = list(dict.fromkeys([*self.interrupts, *questions]))

    def answer(self, question: str) -> None:
        """Note that a question is open no more."""
        self.interrupts = [waiting for waiting in self.interrupts if waiting != question]

    def finish(self) -> None:
        """Record that there is an output, also if its value is unset, and that no question is open."""
        self.produced = True
        self.interrupts = ()
