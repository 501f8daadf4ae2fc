"""Defaults of evaluation."""

DEFAULT_LIVE_TIMEOUT_SECONDS = 300
