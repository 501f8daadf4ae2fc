"""BaseAgent: the kernel's agent, which a notebook can show."""

from __future__ import annotations

from logging import getLogger

import newel_compose
from newel.drawing.kinds import Display
from newel_kernel import BaseAgent as KernelAgent
from newel_kernel import Json

_log = getLogger(__name__)


class BaseAgent(KernelAgent):
    """An agent: a name, its place in a tree, and `_run_async_impl`, which a subclass implements."""

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Json:
        """The forms in which a notebook may show the agent, by MIME type: those of the plugins' displays, and its name.

        Where two displays have the same type, the first counts.
        """
        forms: Json = {}
        try:
            for display in newel_compose.compose_once().registry.all(Display):
                forms = {**display.create(self, include=include, exclude=exclude), **forms}
        except Exception:  # noqa: BLE001 - a plugin boundary: the cell has run; how its value looks must not make it fail
            _log.warning("the agent %r cannot be displayed", self.name, exc_info=True)
        return {"text/plain": f"{type(self).__name__} {self.name}", **forms}
