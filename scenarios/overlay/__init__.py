"""Model overlays: a folder of links to a model, with a config.json of its own."""
