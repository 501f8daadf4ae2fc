"""Every hook, each with when it runs, what to return, and an example that runs."""

from mortise_kernel.hookspecs.registration import REGISTRATION, hookimpl, hookspec

__all__ = ["REGISTRATION", "hookimpl", "hookspec"]
