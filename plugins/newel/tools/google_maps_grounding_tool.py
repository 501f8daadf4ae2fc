"""Grounding in map data by the model's service."""

from newel.tools.server_tools import GoogleMapsGroundingTool, google_maps_grounding

__all__ = ["GoogleMapsGroundingTool", "google_maps_grounding"]
