"""Captured changes judged: alone, or several under one check of the whole project, when a verifier is free."""
