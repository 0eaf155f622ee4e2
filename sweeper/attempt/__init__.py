"""One unit tried once: the agent in its sandbox, how it reaches its model, what it left, and the outcome."""
