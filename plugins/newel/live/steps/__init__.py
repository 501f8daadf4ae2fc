"""The steps of `live_out` and `live_in`. Each module has a `make` for a step."""
