"""The smoke test, which a user runs after the first deployment.

``python -m smoke run`` deploys both queues as personal stacks (``NAME=smoke``), checks the guarantees of the README on
them, and removes them. ``python -m smoke settings`` compares deployed stacks with their templates and changes nothing.
``make smoke`` runs one of the two.

:mod:`smoke.report` runs the checks and prints their results. :mod:`smoke.place` represents the AWS account or local AWS
of the test. :mod:`smoke.stacks` deploys and removes. :mod:`smoke.tasks`, :mod:`smoke.agents` and :mod:`smoke.settings`
contain the checks; `freshq smoke` makes those that a queue in use can have.
"""
