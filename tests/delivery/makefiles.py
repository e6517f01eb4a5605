"""The text of the Makefile and of the files that it includes."""

from __future__ import annotations

from project.paths import PROJECT

MAKEFILES = "\n".join(file.read_text() for file in (PROJECT / "Makefile", *sorted(PROJECT.glob("make/*.mk"))))
