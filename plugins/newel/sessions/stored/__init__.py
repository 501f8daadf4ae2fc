"""What every durable store shares: one form of events and values, one schema, one set of statements, one service."""
