"""A house's plugins for newel, and its distribution: `house.yaml`."""
