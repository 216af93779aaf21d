"""Small programs whose races are about names: looked up, made, moved and removed."""
