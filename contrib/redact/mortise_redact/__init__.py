"""mortise-redact: masks e-mail addresses and keys before a model sees them."""

from mortise_redact.plugin import Settings, masked

__all__ = ["Settings", "masked"]
