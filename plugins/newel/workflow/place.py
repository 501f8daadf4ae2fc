"""Place: the position of a run in the tree of runs, and the marks of its events."""

from __future__ import annotations

from typing import TypedDict

from newel_kernel import Event, NodeInfo


class Placement(TypedDict, total=False):
    """How the place of a run that code starts differs from that of the code's own run."""

    #: Its output is that of the code's run too.
    use_as_output: bool
    #: It is on a branch of its own, as concurrent runs need.
    use_sub_branch: bool
    branch: str | None
    scope: str | None


class Place:
    """The path of a run, the runs whose output it gives, and the author, branch and scope of its events."""

    __slots__ = ("author", "branch", "output_for", "path", "run_id", "scope", "terminal")

    def __init__(
        self, name: str, run_id: str, author: str, branch: str | None, scope: str | None, around: Place | None = None
    ) -> None:
        self.run_id = run_id
        self.path: str = f"{name}@{run_id}" if around is None else f"{around.path}/{name}@{run_id}"
        self.author = author
        self.branch = branch
        self.scope = scope
        #: The paths of the runs whose output this run gives: its own, and those that it ends.
        self.output_for = [self.path]
        #: Whether its output is also that of the run around it.
        self.terminal = False

    def share_output_with(self, around: Place) -> None:
        """Make this run's output that of the one around it as well."""
        self.terminal = True
        self.output_for = self.output_for + around.output_for

    def move(self, placement: Placement) -> None:
        """Move to where `placement` says, from the branch and the scope of the run around this one."""
        branch, scope = placement.get("branch"), placement.get("scope")
        if branch is not None:
            self.branch = branch
        elif placement.get("use_sub_branch"):
            self.branch = sub_branch_of(self.branch, self.path[self.path.rfind("/") + 1 :])
        if scope is not None:
            self.scope = scope

    def event(self, invocation_id: str) -> Event:
        """An event from here that says nothing yet."""
        return Event(
            invocation_id=invocation_id,
            author=self.author,
            node_info=NodeInfo(self.path),
            branch=self.branch,
            isolation_scope=self.scope,
        )

    def mark(self, event: Event, invocation_id: str) -> None:
        """Mark `event` as coming from here."""
        event.invocation_id = invocation_id
        event.author = self.author
        event.branch = self.branch
        event.isolation_scope = self.scope
        event.node_info.path = self.path


def sub_branch_of(branch: str | None, key: str) -> str:
    """The branch of the run `key`, off `branch`."""
    return f"{branch}.{key}" if branch else key
