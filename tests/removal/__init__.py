"""Takes each permission of each function away in turn, and demands that a probe notices."""
