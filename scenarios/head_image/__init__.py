"""A cache of head weights: one image file per path, written by any cold process."""
