"""Every hook, each with when it runs, what to return, and an example that runs."""

from newel_kernel.hookspecs import lifecycle, registration, stores, surface, turn
from newel_kernel.hookspecs.markers import hookimpl, hookspec
from newel_kernel.hookspecs.registration import REGISTRATION

#: The modules that hold the specifications.
SPECIFICATIONS = (registration, turn, stores, surface, lifecycle)

__all__ = ["REGISTRATION", "SPECIFICATIONS", "hookimpl", "hookspec"]
