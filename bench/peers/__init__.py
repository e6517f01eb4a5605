"""Measures freshq beside other queues, on the same downstream: ``make bench-peers``.

Each queue is one process behind HTTP, and each scene of a queue has a downstream of its own. The queues keep their data
in memory. Nothing listens on other interfaces than 127.0.0.1.
"""
