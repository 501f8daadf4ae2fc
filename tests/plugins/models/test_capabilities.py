"""Capabilities come from one table and may be overridden."""

from __future__ import annotations

import pytest

from newel.models.capabilities import capabilities_of
from newel_kernel import ConfigurationError


def test_the_table_and_what_overrides_it() -> None:
    assert "effort" in capabilities_of("gemini", "gemini-3-pro").thinking
    assert "effort" not in capabilities_of("gemini", "gemini-2.5-pro").thinking
    assert not capabilities_of("unheard-of", "x").output_schema_with_tools
    changed = capabilities_of("gemini", "gemini-3-pro", {"media": ["image"], "caching": False})
    assert (changed.media, changed.caching) == ({"image"}, False)


def test_a_wrong_override_is_named() -> None:
    with pytest.raises(ConfigurationError, match="no capability 'cachin'; did you mean 'caching'"):
        capabilities_of("gemini", "x", {"cachin": True})
    with pytest.raises(ConfigurationError, match="must be a boolean, not 'yes'"):
        capabilities_of("gemini", "x", {"caching": "yes"})
