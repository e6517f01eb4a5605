"""The local AWS: an emulator on this machine that runs the synthesized template.

``python -m local --help`` lists its commands; ``make`` runs most of them.

:mod:`local.emulator` starts and stops the emulator. :mod:`local.assembly` reads the output of ``cdk synth``.
:mod:`local.deployment` deploys the template with the CDK CLI, and :mod:`local.emulator_fixups` sets the properties that
the emulator's CloudFormation drops. :mod:`local.stack` is a client of any deployed stack, :mod:`local.queue` of the
task queue, :mod:`local.agents` of the agents' queue. :mod:`local.history` follows the task queue's stream.
:mod:`local.order` uses this history to check that the newest task always started first.
"""
