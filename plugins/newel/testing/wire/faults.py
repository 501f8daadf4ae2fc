"""The former name of ``newel_testkit.wire.faults``, which is in the package newel-testkit."""

from newel.testing.simulators import moved

__getattr__ = moved("wire.faults")
