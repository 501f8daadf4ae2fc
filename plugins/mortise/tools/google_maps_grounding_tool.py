"""Grounding in map data by the model's service."""

from mortise.tools.server_tools import GoogleMapsGroundingTool, google_maps_grounding

__all__ = ["GoogleMapsGroundingTool", "google_maps_grounding"]
