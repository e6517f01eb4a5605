"""Builds an npm package per platform for the `freshq` command: `@freshq/cli-<platform>`.

The `freshq` package lists all of them as optional dependencies. npm installs the package whose `os`, `cpu` and `libc`
match the machine.
"""

from __future__ import annotations

import shutil
import struct
from dataclasses import dataclass
from pathlib import Path

from delivery import crates
from delivery.arm64 import elf
from delivery.npm import Metadata, pack, write_json
from project.paths import PROJECT

#: The folder to which `make build-cli` writes the commands: `<platform>/freshq`.
BUILT = PROJECT / "target" / "cli"
#: Maximum glibc version that a command can require: Debian 10, RHEL 8 and Amazon Linux 2023 have it or a later version.
GLIBC_CEILING = (2, 28)
#: Maximum size of a command's archive, in bytes.
SIZE_CEILING = 10_000_000
_STAGES = PROJECT / "target" / "package" / "cli"
#: Magic number of a 64-bit little-endian Mach-O file, followed by its CPU types.
_MACH_O = 0xFEEDFACF
_LIBRARIES = {"libc.so.6", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1"}


@dataclass(frozen=True)
class Platform:
    #: Operating system and CPU, as in `process.platform` and `process.arch` of Node.js.
    os: str
    cpu: str
    #: Target of the Rust compiler.
    target: str
    #: The machine in a binary's headers: a name in ELF, a number in Mach-O.
    machine: str | int

    @property
    def name(self) -> str:
        """The platform's name, for example `linux-x64`."""
        return f"{self.os}-{self.cpu}"

    @property
    def package(self) -> str:
        return f"@freshq/cli-{self.name}"


PLATFORMS = (
    Platform("darwin", "arm64", "aarch64-apple-darwin", 0x0100000C),
    Platform("darwin", "x64", "x86_64-apple-darwin", 0x01000007),
    Platform("linux", "arm64", "aarch64-unknown-linux-gnu", "EM_AARCH64"),
    Platform("linux", "x64", "x86_64-unknown-linux-gnu", "EM_X86_64"),
)


def problems(platform: Platform, binary: Path) -> list[str]:
    """The reasons why a binary can't start on the platform; empty if it can."""
    if platform.os == "darwin":
        header = struct.unpack("<II", binary.read_bytes()[:8].ljust(8, b"\0"))
        return [] if header == (_MACH_O, platform.machine) else [f"{binary} is not a program for {platform.name}"]
    read = elf.read(binary)
    found = []
    if read.machine != platform.machine:
        found.append(f"{binary} is for {read.machine.removeprefix('EM_')}, and not for {platform.name}")
    if read.glibc is not None and read.glibc > GLIBC_CEILING:
        found.append(f"{binary} needs glibc {'.'.join(map(str, read.glibc))}, later than 2.28")
    others = sorted(each for each in read.libraries - _LIBRARIES if not each.startswith("ld-linux"))
    if others:
        found.append(f"{binary} loads {', '.join(others)}")
    return found


def build(platform: Platform, binary: Path, metadata: Metadata, out: Path) -> Path:
    """Writes the archive of a platform's package to the folder ``out`` and returns the archive's path."""
    stage = _STAGES / platform.name
    shutil.rmtree(stage, ignore_errors=True)
    (stage / "bin").mkdir(parents=True)
    command = stage / "bin" / "freshq"
    shutil.copyfile(binary, command)
    command.chmod(0o755)
    shutil.copyfile(PROJECT / "LICENSE", stage / "LICENSE")
    linked = crates.linked(platform.target, ("freshq",))
    (stage / "THIRD_PARTY_LICENSES").write_text(crates.licences(linked))
    (stage / "README.md").write_text(
        f"# {platform.package}\n\nThe command `freshq` for {platform.name}. Install the package `freshq`, which needs it.\n"
    )
    description = {
        "name": platform.package,
        **metadata.shared,
        "description": f"The command freshq for {platform.name}",
        "os": [platform.os],
        "cpu": [platform.cpu],
        **({"libc": ["glibc"]} if platform.os == "linux" else {}),
        # Makes Yarn unpack the package, because it can't start a program inside an archive.
        "preferUnplugged": True,
        "files": ["bin", "THIRD_PARTY_LICENSES"],
    }
    write_json(stage / "package.json", description)
    return pack(stage, out)
