"""The names of the framework's own calls (docs/reference/behaviour.md#questions)."""

from __future__ import annotations

CREDENTIAL_CALL = "adk_request_credential"
CONFIRMATION_CALL = "adk_request_confirmation"
INPUT_CALL = "adk_request_input"
FRAMEWORK_CALL = "adk_framework"
#: Models never see these.
HIDDEN = frozenset({CREDENTIAL_CALL, CONFIRMATION_CALL, INPUT_CALL, FRAMEWORK_CALL})
