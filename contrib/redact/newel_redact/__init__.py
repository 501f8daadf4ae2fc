"""newel-redact: masks e-mail addresses and keys before a model sees them."""

from newel_redact.plugin import Settings, masked

__all__ = ["Settings", "masked"]
