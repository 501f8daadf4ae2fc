"""The released package of parameters."""

from newel.tools.openapi_tool.common import common as common

__all__ = ["common"]
