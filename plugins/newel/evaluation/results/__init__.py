"""Results of cases and sets, and how they are shown."""
