"""ContextFilterPlugin: the model sees only the latest invocations, or what a function leaves of the contents."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from newel.plugins.base_plugin import BasePlugin
from newel_kernel import Context, LlmRequest, LlmResponse
from newel_types import Content, SharedContents

_log = logging.getLogger(__name__)


class ContextFilterPlugin(BasePlugin):
    """Keeps the last `num_invocations_to_keep`, then applies `custom_filter`; a filter that fails changes nothing."""

    def __init__(
        self,
        num_invocations_to_keep: int | None = None,
        custom_filter: Callable[[list[Content]], list[Content]] | None = None,
        name: str = "context_filter_plugin",
    ) -> None:
        super().__init__(name)
        self._keep = num_invocations_to_keep
        self._filter = custom_filter

    async def before_model_callback(self, *, callback_context: Context, llm_request: LlmRequest) -> LlmResponse | None:
        """Shorten the contents of the request; the session keeps them all."""
        contents = llm_request.contents
        if self._keep is not None and self._keep > 0:
            shared = contents.frozen() if isinstance(contents, SharedContents) else contents
            start = _start(shared, self._keep)
            if start:
                contents = SharedContents(shared[start:])
        if self._filter is not None:
            try:
                contents = self._filter(list(contents))
            except Exception:  # noqa: BLE001 - a plugin boundary: the whole context is better than no answer
                _log.exception("the filter of %r failed; the context is unchanged", self.name)
                return None
        llm_request.contents = contents
        return None


def _start(contents: Sequence[Content], keep: int) -> int:
    """Where the last `keep` invocations begin; earlier, if a result would lose its call."""
    starts = [
        index
        for index, content in enumerate(contents)
        if _is_message(content) and (index == 0 or not _is_message(contents[index - 1]))
    ]
    if len(starts) <= keep:
        return 0
    limit = starts[-keep]
    wanting: list[str | None] = []
    for index in range(len(contents) - 1, -1, -1):
        for part in reversed(contents[index].parts or ()):
            call, response = part.function_call, part.function_response
            if response is not None:
                wanting.append(response.id or response.name)
            elif call is not None and (call.id or call.name) in wanting:
                wanting.remove(call.id or call.name)
        if index <= limit and not wanting:
            return index
    return 0


def _is_message(content: Content) -> bool:
    """Whether the user said it; tool results have the user's role too."""
    return content.role == "user" and all(part.function_response is None for part in content.parts or ())
