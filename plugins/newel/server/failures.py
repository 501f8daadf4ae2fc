"""Failures: what a developer sees of an error, with the lines of their own code that it came through."""

from __future__ import annotations

import linecache
from pathlib import Path
from traceback import FrameSummary

from newel.contexts.stash_keys import SECRETS
from newel_compose import describe_error, frames_of
from newel_kernel import InvocationContext, Json

#: What failed in words, and the lines of the user's code that the error came through, the innermost last.
ERROR, FRAMES = "newel.error", "newel.error.frames"
#: How many lines of source are shown on each side of a frame's own.
_AROUND = 2
_MOST_FRAMES = 20


def failure_of(error: Exception, context: InvocationContext | None) -> Json:
    """The attributes of what failed: the error without the secrets of the invocation, and the user's own frames."""
    frames = [_frame(one) for one in frames_of(error)[-_MOST_FRAMES:]]
    return {ERROR: words_of(error, context), FRAMES: frames}


def words_of(error: Exception, context: InvocationContext | None) -> str:
    """An error in one line, without the secrets that the invocation has handed out."""
    secrets = context.stash.get(SECRETS, None) if context is not None else None
    return describe_error(error if secrets is None else secrets.mask_error(error))


def _frame(frame: FrameSummary) -> Json:
    path, line, here = Path(frame.filename), frame.lineno or 0, Path.cwd()
    first = max(1, line - _AROUND)
    source = [linecache.getline(frame.filename, n).rstrip("\n") for n in range(first, line + _AROUND + 1)]
    shown = path.relative_to(here) if path.is_relative_to(here) else path
    return {"file": str(shown), "line": line, "function": frame.name, "first": first, "source": source}
