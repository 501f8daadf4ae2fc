"""Call ids: how the ids look of calls that no model gave one."""

from newel_kernel import seam

#: It tells that a call's id is ours, and not to be sent back to the model.
OURS = "adk-"


def new_call_id() -> str:
    """An id for a call."""
    return OURS + seam.new_id()
