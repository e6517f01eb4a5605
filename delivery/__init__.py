"""Builds the functions for AWS, shows changes of stacks, and deploys them."""
