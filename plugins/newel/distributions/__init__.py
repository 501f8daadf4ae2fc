"""The distributions that newel ships, one YAML file each."""
