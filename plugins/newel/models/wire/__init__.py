"""What every provider of models on a wire shares: errors, outcomes, names, signatures, notices, clients."""
