"""The policies that make the default distribution forgiving, one plugin each; any can be taken out."""
