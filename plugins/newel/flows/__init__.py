"""The processors of the request, response and result chains, one plugin each."""
