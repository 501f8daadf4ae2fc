"""Optimisation: agents made better by what evaluations say of them."""
