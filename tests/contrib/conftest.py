"""The command line, for commands that packages of their own provide."""

from tests.plugins.cli.conftest import project

__all__ = ["project"]
