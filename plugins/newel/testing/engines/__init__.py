"""Checks of what every engine must do, for authors of engines."""
