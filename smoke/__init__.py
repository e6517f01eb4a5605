"""The smoke test: what a user runs after the first deployment.

``python -m smoke run`` deploys both queues as a personal stack (``NAME=smoke``), proves on them what the
README promises, and removes them. ``python -m smoke settings`` compares deployed stacks with their
templates and only reads. ``make smoke`` is the usual way in.

The layout: :mod:`smoke.report` runs checks and prints the table; :mod:`smoke.place` is where they run,
an AWS account or the local AWS; :mod:`smoke.stacks` deploys and removes; :mod:`smoke.tasks`,
:mod:`smoke.agents`, :mod:`smoke.settings` and :mod:`smoke.unknowns` hold the checks.
"""
