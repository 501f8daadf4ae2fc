"""Call ids: the ids of calls to which the model gave none."""

from newel_kernel import seam

#: The prefix of the ids that newel makes, which are not sent back to the model.
OURS = "adk-"


def new_call_id() -> str:
    """An id for a call."""
    return OURS + seam.new_id()
