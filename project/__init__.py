"""What every tool of the project uses: the paths of the project, and a command's output."""
