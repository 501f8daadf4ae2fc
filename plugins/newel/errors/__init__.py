"""Errors that callers catch by the names of the released modules."""
