"""Pull requests: a Protocol of few calls, GitHub behind it; what a reviewer reads, made by pure functions."""
