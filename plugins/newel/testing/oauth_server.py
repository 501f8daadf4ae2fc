"""The former name of ``newel_testkit.oauth_server``, which is in the package newel-testkit."""

from newel.testing.simulators import moved

__getattr__ = moved("oauth_server")
