"""Cases: what an agent is asked, what is expected of it, and what it did."""
