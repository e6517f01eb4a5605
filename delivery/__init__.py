"""Builds the functions for AWS, shows and comments on changes of stacks, and deploys them."""
