"""Checks the functions that were built for Lambda: their binaries, their start and their responses."""
