"""The plugins of the built-in metrics: light modules, whose evaluators load when one is used."""
