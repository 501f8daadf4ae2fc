"""Log probabilities of tokens."""

from newel_types.wire import ResponseModel


class LogprobsResultCandidate(ResponseModel):
    """A token and its log probability."""

    log_probability: float | None = None
    token: str | None = None
    token_id: int | None = None


class LogprobsResultTopCandidates(ResponseModel):
    """The likeliest tokens of one step."""

    candidates: list[LogprobsResultCandidate] | None = None


class LogprobsResult(ResponseModel):
    """The chosen and the likeliest tokens, step by step."""

    chosen_candidates: list[LogprobsResultCandidate] | None = None
    top_candidates: list[LogprobsResultTopCandidates] | None = None
    log_probability_sum: float | None = None
