"""Checks the functions that were built for Lambda: their binaries, startup and responses."""
