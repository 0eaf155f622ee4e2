"""The cleanup Loop of one sweep: what it surveys, what it has claimed, and the barrier that closes its rounds."""
