"""Operations: how a server is watched, kept from too much work, and ended."""
