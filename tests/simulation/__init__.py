"""A deterministic simulation of owners that share a store: virtual time, real code over models of stores."""
