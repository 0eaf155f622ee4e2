"""Verified changes together: the merge, the whole check and the tests on it, and the search for who broke it."""
