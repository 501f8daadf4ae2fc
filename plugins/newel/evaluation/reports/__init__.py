"""Reports of stored runs, one module per format."""
