"""Checks of what every artifact store must do, for authors of stores."""
