"""What the offline models share: reading a request, reading schemas, and making responses."""
