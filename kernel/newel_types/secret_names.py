"""Names that say that their value is a secret."""

from __future__ import annotations

import re

_BETWEEN_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SECRET = re.compile(
    r"(^|_)((api|access|private|signing|secret|encryption|hmac)_?keys?|token|(auth|bearer|access|refresh)_?tokens"
    r"|secrets?|pass|passwords?|passwd|passphrase|pwd|authorization|bearer|credentials?(_json)?|cookies?|auth_code"
    r"|auth_response_uri|code_verifier)$|^tokens$"
)


def names_secret(name: str) -> bool:
    """Whether a field of that name holds a secret: `api_key`, `clientSecret`, `X-Auth-Token`, but not `max_tokens`."""
    words = _BETWEEN_WORDS.sub("_", name).replace("-", "_").lower()
    return _SECRET.search(words) is not None
