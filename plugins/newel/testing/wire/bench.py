"""The former name of ``newel_testkit.wire.bench``, which is in the package newel-testkit."""

from newel.testing.simulators import moved

__getattr__ = moved("wire.bench")
