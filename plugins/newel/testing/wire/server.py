"""The former name of ``newel_testkit.wire.server``, which is in the package newel-testkit."""

from newel.testing.simulators import moved

__getattr__ = moved("wire.server")
