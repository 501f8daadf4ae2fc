"""Bill: what the calls of a model cost, as the last line of a turn."""

from __future__ import annotations

from newel.contexts.usages import noted_cost
from newel_kernel import Event


class Bill:
    """Adds up the tokens and the cost of events; empty if nothing was counted."""

    def __init__(self) -> None:
        self._prompt, self._cached, self._output = 0, 0, 0
        #: US dollars.
        self._cost: float | None = None
        self._counted = False

    def note(self, event: Event) -> None:
        """Count one event."""
        usage = event.usage_metadata
        cost = noted_cost(usage)
        if usage is None or event.partial:
            return
        self._counted = True
        self._prompt += usage.prompt_token_count or 0
        self._cached += usage.cached_content_token_count or 0
        self._output += (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
        if cost is not None:
            self._cost = (self._cost or 0.0) + cost

    def line(self) -> str:
        """``1,234 tokens in (1,024 from the cache), 56 out, $0.0042``; the next line starts from zero."""
        if not self._counted:
            return ""
        price = "price unknown" if self._cost is None else f"${self._cost:.4f}"
        cached = f" ({self._cached:,} from the cache)" if self._cached else ""
        text = f"{self._prompt:,} tokens in{cached}, {self._output:,} out, {price}"
        self._prompt, self._cached, self._output, self._cost, self._counted = 0, 0, 0, None, False
        return text
