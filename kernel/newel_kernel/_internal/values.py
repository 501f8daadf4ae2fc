"""Values: names for what plugins, models and stores bring as they like."""

from __future__ import annotations

from typing import Any, TypeAlias

#: An object of JSON, as a dict: a call's arguments, a state, metadata.
Json: TypeAlias = dict[str, Any]
