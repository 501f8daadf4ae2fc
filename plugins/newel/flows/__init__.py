"""The processors of the request, response and result chains, one plugin each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.flows.approvals import act_on_answers as act_on_answers
    from newel.flows.approvals import ask_for_approval as ask_for_approval
    from newel.flows.approvals import ask_for_input as ask_for_input
    from newel.flows.code_steps import prepare_code as prepare_code
    from newel.flows.code_steps import run_code as run_code

#: The modules that do the plugins' work: the plugins are light, and these load with the first request that needs them.
_WHERE = {
    "act_on_answers": "newel.flows.approvals",
    "ask_for_approval": "newel.flows.approvals",
    "ask_for_input": "newel.flows.approvals",
    "prepare_code": "newel.flows.code_steps",
    "run_code": "newel.flows.code_steps",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
