"""The distributions that mortise ships, one YAML file each."""
