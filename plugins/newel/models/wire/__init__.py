"""The code that all networked model providers share: errors, outcomes, names, signatures, notices, clients."""
