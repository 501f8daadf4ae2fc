"""The former name of ``newel_testkit.live.dialects``, which is in the package newel-testkit."""

from newel.testing.simulators import moved

__getattr__ = moved("live.dialects")
