"""The local AWS: an emulator on this machine that runs the synthesized template.

``python -m local --help`` lists what it can do; ``make`` is the usual way in.

The layout: :mod:`local.emulator` starts and stops the emulator; :mod:`local.assembly`
reads what ``cdk synth`` wrote; :mod:`local.deployment` deploys it with the CDK CLI and
:mod:`local.emulator_fixups` sets what the emulator's CloudFormation leaves out; :mod:`local.stack` is
any deployed stack as a client sees it, :mod:`local.queue` the task queue's, :mod:`local.agents`
the agents'; :mod:`local.history` follows the task queue's stream, and :mod:`local.order` judges
from that whether the newest task was always started first.
"""
