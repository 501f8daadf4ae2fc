"""The web UI: a page of plain modules that speaks to the documented routes of the API server."""
