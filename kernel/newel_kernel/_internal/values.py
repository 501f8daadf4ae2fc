"""Values: names for the free-form data of plugins, models and stores."""

from __future__ import annotations

from typing import Any, TypeAlias

#: A JSON object, as a dict: a call's arguments, a state, metadata.
Json: TypeAlias = dict[str, Any]
