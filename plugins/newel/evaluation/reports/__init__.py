"""Reports of stored runs, one module a format."""
