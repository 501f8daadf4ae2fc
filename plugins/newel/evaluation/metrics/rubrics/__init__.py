"""Statements about answers that a judge finds true or false."""
