"""Builds everything that a release publishes, without network access: the npm packages, their SBOMs and checksums.

The workflow `release.yml` publishes the folder. See `docs/internals/releasing.md`.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from delivery import commands, crates, package, standins
from delivery.npm import Metadata, run, write_json
from project.paths import PROJECT

#: The folder for the files of a release.
OUT = PROJECT / "target" / "npm"
#: The list of checksums, in the format of `sha256sum`.
CHECKSUMS = "SHA256SUMS"
#: The repository's packages that aren't published.
_TOOLS = [f"tools/{name}/package.json" for name in ("cdk", "package", "site")]


@dataclass(frozen=True)
class Release:
    functions: package.Functions
    #: Folder with `<platform>/freshq`.
    commands: Path
    #: Whether missing parts and an unfinished version are allowed. If so, they are printed.
    dry: bool


def build(release: Release, out: Path, tell: Callable[[str], None]) -> None:
    """Writes the files of a release to the folder ``out`` and prints what would be published.

    Raises `RuntimeError` if anything is missing, except in a dry run.
    """
    metadata = Metadata.read()
    shutil.rmtree(out, ignore_errors=True)
    open_points = version_problems(metadata.version)
    functions, stand_ins = _functions(release)
    open_points += stand_ins
    packed: list[Path] = []
    contents: list[str] = []
    for platform in commands.PLATFORMS:
        binary = release.commands / platform.name / "freshq"
        if not binary.is_file():
            open_points.append(f"{platform.package} was not built here: there is no {binary}")
            continue
        if problems := commands.problems(platform, binary):
            raise RuntimeError("; ".join(problems))
        archive = commands.build(platform, binary, metadata, out)
        if archive.stat().st_size > commands.SIZE_CEILING:
            raise RuntimeError(f"{archive} has {archive.stat().st_size} bytes, more than {commands.SIZE_CEILING}")
        packed.append(archive)
        contents.append(_bill(out, platform.package, metadata.version, crates.linked(platform.target, ("freshq",))))
    # Packs this package last, because the other packages are its dependencies.
    packed.append(package.build(functions, out))
    contents.append(_bill(out, "freshq", metadata.version, crates.linked(package.TARGET, functions.names)))
    _checksums(out, packed)
    for line in [*report(out), *contents, *(f"not ready: {point}" for point in open_points)]:
        tell(line)
    if open_points and not release.dry:
        raise RuntimeError("this is not a release. With DRY=1, make release only prints what is missing")


def version_problems(version: str) -> list[str]:
    found = [
        f"{file} has the version {other}, and package.json has {version}"
        for file, other in [
            ("Cargo.toml", _first(r'^version = "(.+)"$', "Cargo.toml")),
            *((file, _first(r'"version": "(.+)"', file)) for file in _TOOLS),
        ]
        if other != version
    ]
    if not re.search(rf"^## {re.escape(version)} ", (PROJECT / "CHANGELOG.md").read_text(), re.MULTILINE):
        found.append(f"CHANGELOG.md has no heading `## {version} (<date>)`")
    commit = run("git", "describe", "--always", "--dirty", "--all").strip()
    if commit != f"tags/v{version}":
        found.append(f"the commit is {commit}, and not the tag v{version} without changes")
    return found


def report(out: Path) -> list[str]:
    """The files of a release, each with its size and checksum."""
    rows = [line.split("  ") for line in (out / CHECKSUMS).read_text().splitlines()]
    return [f"{name:<45} {(out / name).stat().st_size:>10,} bytes  sha256 {checksum}" for checksum, name in rows]


def _functions(release: Release) -> tuple[package.Functions, list[str]]:
    missing = [name for name in release.functions.names if not (release.functions.built / name / "bootstrap").is_file()]
    if not missing:
        return release.functions, []
    stand_ins = standins.write(PROJECT / "target" / "package" / "stand-ins", release.functions.names)
    functions = package.Functions(stand_ins, release.functions.names, standins.COMPILER)
    return functions, [
        f"freshq contains stand-ins, because the functions were not built here: {release.functions.built} has no {missing[0]}"
    ]


def _bill(out: Path, name: str, version: str, linked: list[crates.Crate]) -> str:
    """Writes a package's bill of materials and returns the package's licenses for the report."""
    file = f"{name.removeprefix('@').replace('/', '-')}-{version}.cdx.json"
    write_json(out / file, crates.bill_of_materials(name, version, linked))
    licences = Counter(crate.licence for crate in linked).most_common()
    return f"{name} {version}: {len(linked)} crates; {', '.join(f'{licence} ({times})' for licence, times in licences)}"


def _checksums(out: Path, packed: list[Path]) -> None:
    files = [path.name for path in packed] + sorted(path.name for path in out.glob("*.cdx.json"))
    lines = [f"{hashlib.sha256((out / name).read_bytes()).hexdigest()}  {name}\n" for name in files]
    (out / CHECKSUMS).write_text("".join(lines))


def _first(pattern: str, file: str) -> str:
    found = re.search(pattern, (PROJECT / file).read_text(), re.MULTILINE)
    if found is None:
        raise RuntimeError(f"{file} has no version")
    return found[1]
