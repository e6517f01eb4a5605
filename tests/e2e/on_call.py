"""An operator who has only an alarm's text, its runbook section, and the commands in both."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Any

import commands

from local.assembly import Assembly
from local.emulator import local_environment
from local.stack import DeployedStack
from project.paths import PROJECT


@dataclass
class OnCall:
    """An operator with a terminal, an alarm's text, and the runbook section that the text names."""

    stack: DeployedStack
    command: str
    text: str
    #: The title of the subsection to read, if the section refers to one.
    subsection: str | None = None

    @property
    def section(self) -> str:
        ((page, title),) = re.findall(r'More: (docs/\S+), "(.+)"\.$', self.text)
        _, _, rest = (PROJECT / page).read_text().partition(f"# {self.subsection or title}\n")
        return re.split(r"^##", rest, flags=re.MULTILINE)[0]

    def printed(self, after: str, before: str) -> list[str]:
        """The commands between two strings in the section."""
        _, _, rest = self.section.partition(after)
        span = rest.partition(before)[0]
        return re.findall(r"`((?:freshq|aws) [^`]+)`", span.replace("\n  ", " "))

    def first(self) -> str:
        """Runs the first command in the alarm's text and returns its output."""
        return self.run(re.findall(r"freshq [^.,:]+ --stack [\w-]+", self.text)[0])

    def look(self, **values: str) -> str:
        """Runs the commands in the alarm's text and the section's check commands, and returns their output."""
        first = re.findall(r"freshq [^.,:]+ --stack [\w-]+", self.text)
        assert first, self.text
        lines = first + self.printed("- **Check**", "- **Fix**")
        # Skip commands whose placeholders have no value yet, because they apply to other cases.
        known = [line for line in lines if set(re.findall(r"<(\w+)>", line)) <= {"env", *values}]
        known = [line for line in known if not line.startswith("freshq logs")]
        return "\n".join(self.run(line, **values) for line in known)

    def do(self, beginning: str, **values: str) -> str:
        """Runs the fix command that starts with `beginning`, and returns its output."""
        (line,) = {line for line in self.printed("- **Fix**", "- **Resolved**") if line.startswith(beginning)}
        return self.run(line, **values)

    def run(self, line: str, **values: str) -> str:
        """Runs a command as printed, with its placeholders replaced, and returns its output."""
        for name, value in {"env": "dev", **values}.items():
            line = line.replace(f"<{name}>", value)
        program, *arguments = shlex.split(line)
        assert "<" not in line, line
        if program == "aws":
            return self._aws(*arguments)
        ran = commands.run(self.command, local_environment(self.stack.local_endpoint), *arguments)
        assert ran.returncode in (0, 1), (line, ran.stdout, ran.stderr)
        return ran.stdout

    def remedy(self, found: str, beginning: str, **values: str) -> None:
        """Runs the command in a doctor finding that starts with `beginning`, with its placeholders replaced."""
        (remedy,) = set(re.findall(rf"({beginning} [^;\n]+)", found))
        self.run(remedy, **values)

    def _aws(self, service: str, operation: str, *options: str) -> str:
        """Runs the equivalent of an AWS CLI command with boto3."""
        given: dict[str, Any] = {}
        for option, value in zip(options, [*options[1:], "--"], strict=True):
            name = "".join(word.title() for word in option[2:].split("-")).replace("Uuid", "UUID")
            if option.startswith("--"):
                # An option without a value is a Boolean flag.
                given[name] = True if value.startswith("--") else int(value) if value.isdigit() else value
        return str(getattr(self.stack.client(service), operation.replace("-", "_"))(**given))


def alarm(template: Assembly, name: str) -> str:
    """The text of an alarm."""
    (text,) = [
        alarm.properties["AlarmDescription"]
        for alarm in template.resources("AWS::CloudWatch::Alarm")
        if f"observability{name.replace('-', '')}alarm" in alarm.logical_id
    ]
    return text
