"""Ages: durations such as 30d, as options take them, and points in time to the minute."""

from __future__ import annotations

import re
from datetime import datetime

import click

_UNITS = {"m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_AGE = re.compile(r"([0-9]{1,6})([mhdw])")


class Age(click.ParamType):  # type: ignore[type-arg]  # generic in some releases of click
    """A duration such as 30d, in seconds."""

    name = "age"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The seconds of an age."""
        match = _AGE.fullmatch(str(value).strip())
        if match is None or not int(match[1]):
            self.fail(
                f"{value!r} is not an age: write a whole number above 0 and m, h, d or w, such as 30d", param, ctx
            )
        return int(match[1]) * _UNITS[match[2]]


def minute_of(seconds: float) -> str:
    """A time since the epoch, local and to the minute; the bare number if it is outside the calendar."""
    try:
        return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return f"{seconds:g}"
