"""Links that several processes make sure of at the same time."""
