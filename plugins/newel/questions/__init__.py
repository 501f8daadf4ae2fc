"""Questions: calls that wait for the user. What is asked, by whom, on whose behalf, and which answer counts.

A question is a call of the framework's own (for an approval, a credential, an input) or of a long-running tool, which
the runtime marked as one that waits. The answer is the user's function response to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.questions.precedence import left_to_others as left_to_others

# Loads once there are answers: it decides which of them acts.
_WHERE = {"left_to_others": "newel.questions.precedence"}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
