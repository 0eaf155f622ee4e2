"""Configuration: the models with their defaults, the types of their values, and the file it is read from."""
