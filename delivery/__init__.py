"""Builds the functions for AWS, shows stack changes, and deploys the stacks."""
