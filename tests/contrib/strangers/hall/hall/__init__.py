"""A hall: the kind `Greeting`, which other plugins fill."""

from hall.kinds import Greeting

__all__ = ["Greeting"]
