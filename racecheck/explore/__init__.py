"""Exploration: many executions of a scenario, in worker processes."""
