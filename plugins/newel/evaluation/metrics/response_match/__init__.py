"""The words that an answer shares with the expected one."""
