"""The models that newel names by itself, and when providers shut models down, as their own pages say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta

#: The models of agents that name none, by provider; also those of judges and simulated users.
GEMINI = "gemini-3.5-flash-lite"
CLAUDE = "claude-sonnet-5-5"
OPENAI = "gpt-6.1-terra"
#: When the table below was last compared with the providers' pages.
CHECKED = date(2026, 11, 26)
#: From how long before the end on it is told.
NOTICE = timedelta(days=60)


@dataclass(frozen=True, slots=True)
class End:
    """When the models of a name (a pattern, in full) are shut down, and what their provider recommends instead."""

    model: str
    day: date
    instead: str

    def told(self, name: str, today: date) -> str:
        """The end in a sentence, with the remedy."""
        when = "is shut down on" if today < self.day else "was shut down on"
        return f"the model {name!r} {when} {self.day}; its provider recommends {self.instead!r}"


_DATED = r"(-\d{4}-?\d{2}-?\d{2})?"
#: The first row that matches applies.
ENDS = (
    End(r"gemini-2\.0-.*", date(2026, 6, 1), "gemini-3.5-flash-lite"),
    End(r"gemini-2\.5-pro(-(?!.*(preview|tts|image|live|audio)).*)?", date(2026, 12, 1), "gemini-3.8-flash"),
    End(r"gemini-2\.5-flash", date(2026, 12, 1), "gemini-3.5-flash-lite"),
    End(r"gemini-3-pro-preview", date(2026, 3, 9), "gemini-3.1-pro-preview"),
    End(r"gemini-3\.1-flash-lite", date(2027, 5, 7), "gemini-3.5-flash-lite"),
    End(r"claude-3-5-sonnet-\d{8}", date(2025, 10, 28), CLAUDE),
    End(r"claude-3-7-sonnet-(\d{8}|latest)", date(2026, 2, 19), CLAUDE),
    End(r"claude-sonnet-4(-0|-20250514)", date(2026, 6, 15), CLAUDE),
    End(r"claude-opus-4(-0|-20250514)", date(2026, 6, 15), "claude-opus-4-8"),
    End(rf"claude-sonnet-4-5{_DATED}", date(2026, 11, 30), CLAUDE),
    End(rf"(gpt-4|gpt-4-turbo)(-preview)?{_DATED}|gpt-4-(0613|1106-preview)", date(2026, 10, 23), "gpt-5.6-sol"),
    End(r"gpt-3\.5-turbo(-0125)?", date(2026, 10, 23), "gpt-5.6-terra"),
    End(rf"(o1|o1-pro|o3-mini){_DATED}|gpt-4o-2024-05-13", date(2026, 10, 23), "gpt-5.6-sol"),
    End(rf"(o4-mini|gpt-4\.1-nano){_DATED}", date(2026, 10, 23), "gpt-5.6-terra"),
    End(rf"(gpt-5|gpt-5-pro|o3|o3-pro){_DATED}", date(2026, 12, 11), "gpt-6.1-sol"),
    End(rf"gpt-5-mini{_DATED}", date(2026, 12, 11), "gpt-6.1-terra"),
    End(rf"gpt-5-nano{_DATED}", date(2026, 12, 11), "gpt-5.6-luna"),
    End(rf"(gpt-4o|gpt-4o-mini|gpt-4\.1|gpt-4\.1-mini){_DATED}", date(2027, 1, 14), "gpt-6-luna"),
    End(r"gpt-5\.1", date(2027, 4, 1), "gpt-6.1-sol"),
)


def end_of(address: str) -> End | None:
    """The end of an address's model at its own provider, since hosts have dates of their own; None if none is known."""
    name = re.split(r"[:/]", address)[-1].partition("@")[0]
    return next((end for end in ENDS if re.fullmatch(end.model, name)), None)


def ending(address: str, today: date | None = None) -> str | None:
    """What to tell of a model that has ended or ends soon; None: nothing."""
    today = today or date.today()
    end = end_of(address)
    return end.told(address, today) if end is not None and end.day - today <= NOTICE else None
