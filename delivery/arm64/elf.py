"""Reads what a binary requires to start: the architecture, glibc and shared libraries."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

#: glibc version of Amazon Linux 2023: https://docs.aws.amazon.com/linux/al2023/ug/core-glibc.html
GLIBC_CEILING = (2, 34)
#: Libraries in `provided.al2023`: those of glibc, and the gcc library that unwinds panics.
_PROVIDED = {"ld-linux-aarch64.so.1", "libc.so.6", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0", "libdl.so.2"}


class NotAnElf(RuntimeError):
    """Raised if the file is missing or isn't a Linux program. The message says which."""


@dataclass(frozen=True)
class Binary:
    """Information from a program's ELF headers."""

    machine: str
    #: The newest glibc symbol version that the program requires, from its version-needed section; `None` if none.
    glibc: tuple[int, ...] | None
    #: The shared libraries that the program loads.
    libraries: frozenset[str]

    def problems(self) -> list[str]:
        """The reasons why the program can't start on arm64 in Lambda; empty if it can."""
        found = []
        if self.machine != "EM_AARCH64":
            found.append(f"it is for {self.machine.removeprefix('EM_')}, and the functions are arm64: run `make build`")
        if self.glibc is not None and self.glibc > GLIBC_CEILING:
            found.append(f"it needs glibc {_dotted(self.glibc)}, and Lambda has {_dotted(GLIBC_CEILING)}")
        strangers = sorted(self.libraries - _PROVIDED)
        if strangers and self.machine == "EM_AARCH64":
            found.append(f"it loads {', '.join(strangers)}, which Lambda does not have")
        return found

    def described(self) -> str:
        """The machine and glibc version as text for a table."""
        return f"{self.machine.removeprefix('EM_')}, glibc {_dotted(self.glibc) if self.glibc else 'none'}"


def read(path: Path) -> Binary:
    """Reads a program's headers. Raises `NotAnElf`."""
    try:
        with path.open("rb") as stream:
            elf = ELFFile(stream)
            return Binary(elf["e_machine"], _glibc(elf), _libraries(elf))
    except FileNotFoundError:
        raise NotAnElf(f"{path} is missing: run `make build`") from None
    except ELFError as error:
        raise NotAnElf(
            f"{path} is not a program ({error}), for example the placeholder of FRESHQ_SKIP_BUILD=1. Run `make build`"
        ) from error


def _glibc(elf: ELFFile) -> tuple[int, ...] | None:
    versions = [
        tuple(int(part) for part in version.name.removeprefix("GLIBC_").split("."))
        for section in elf.iter_sections()
        if isinstance(section, GNUVerNeedSection)
        for _, needed in section.iter_versions()
        for version in needed
        if version.name.startswith("GLIBC_") and version.name != "GLIBC_PRIVATE"
    ]
    return max(versions, default=None)


def _libraries(elf: ELFFile) -> frozenset[str]:
    return frozenset(
        tag.needed  # type: ignore[attr-defined]  # pyelftools adds the attribute depending on the tag
        for section in elf.iter_sections()
        if isinstance(section, DynamicSection)
        for tag in section.iter_tags("DT_NEEDED")
    )


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
