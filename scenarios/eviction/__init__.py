"""A folder of cached files with a cap, and those that keep it."""
