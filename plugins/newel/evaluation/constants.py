"""Defaults of evaluation."""

DEFAULT_LIVE_TIMEOUT_SECONDS = 300
#: How the ids of the sessions begin in which cases run.
SESSION_PREFIX = "adk-eval-session-"
