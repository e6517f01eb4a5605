"""Removes each permission of each function in turn and requires that a probe fails without it."""
