"""The functions as Lambda gets them: what the binaries are, and that each starts and answers."""
