"""Sustained load on the deployed task queue, with outages and redeployments; see `tests.soak.__main__`."""
