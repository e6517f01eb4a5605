"""The crates that are linked into a binary: their licenses and bill of materials."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from delivery.npm import run
from project.paths import PROJECT

#: Names of files that contain a license text or notices that must be kept.
_TEXTS = re.compile(r"(?i)(licen[sc]e|unlicense|copying|copyright|notice)")
#: License text for crates that are published without a license file. A test lists these crates.
_MIT = """\
Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


@dataclass(frozen=True, order=True)
class Crate:
    name: str
    version: str
    #: License as an SPDX expression.
    licence: str
    authors: tuple[str, ...]
    #: Folder of its sources.
    folder: Path

    def texts(self) -> list[str]:
        files = sorted(path for path in self.folder.iterdir() if _TEXTS.match(path.name) and path.is_file())
        if files:
            return [path.read_text(errors="replace").strip() + "\n" for path in files]
        if "Apache-2.0" in self.licence:
            return [(PROJECT / "LICENSE").read_text().strip() + "\n"]
        if self.licence == "MIT":
            return [f"MIT License\n\nCopyright (c) {', '.join(self.authors) or f'the authors of {self.name}'}\n\n{_MIT}"]
        raise RuntimeError(f"{self.name} {self.version} ({self.licence}) has no text of its licence: add the text here")


def linked(target: str, roots: Sequence[str]) -> list[Crate]:
    """The registry crates that these workspace packages link for a compiler target.

    Crates that run only at compile time (procedural macros, build scripts) and test crates are excluded. Features are
    resolved for the whole workspace, so the list can include a crate that a single package doesn't use.
    """
    metadata = json.loads(run("cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target))
    packages = {package["id"]: package for package in metadata["packages"]}
    dependencies = {
        node["id"]: [each["pkg"] for each in node["deps"] if any(kind["kind"] is None for kind in each["dep_kinds"])]
        for node in metadata["resolve"]["nodes"]
    }
    waiting = [each["id"] for each in packages.values() if each["source"] is None and each["name"] in roots]
    if len(waiting) != len(roots):
        raise RuntimeError(f"the workspace does not have all of {', '.join(roots)}")
    reached: set[str] = set()
    while waiting:
        package = waiting.pop()
        macro = any("proc-macro" in each["kind"] for each in packages[package]["targets"])
        if package not in reached and not macro:
            reached.add(package)
            waiting += dependencies[package]
    return sorted(_crate(packages[each]) for each in reached if packages[each]["source"] is not None)


def licences(crates: Iterable[Crate]) -> str:
    """The `THIRD_PARTY_LICENSES` document, with each text once, after the crates to which it applies."""
    by_text: dict[str, list[Crate]] = {}
    for crate in crates:
        for text in crate.texts():
            by_text.setdefault(text, []).append(crate)
    parts = [
        "The programs in this package contain the crates below, and Rust's standard library (MIT OR Apache-2.0, copyright\n"
        "The Rust Project contributors). Each text applies to the crates that are named before it.\n"
    ]
    for text, owners in by_text.items():
        named = "\n".join(f"{crate.name} {crate.version} ({crate.licence})" for crate in owners)
        parts.append(f"{'=' * 100}\n{named}\n\n{text}")
    return "\n".join(parts)


def bill_of_materials(name: str, version: str, crates: Iterable[Crate]) -> dict[str, object]:
    """The CycloneDX document of an npm package, which lists the crates in its programs."""
    purl = f"pkg:npm/{name.replace('@', '%40')}@{version}"
    components = [
        {
            "type": "library",
            "bom-ref": f"pkg:cargo/{crate.name}@{crate.version}",
            "name": crate.name,
            "version": crate.version,
            "purl": f"pkg:cargo/{crate.name}@{crate.version}",
            "licenses": [{"expression": crate.licence}],
        }
        for crate in crates
    ]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": purl,
                "name": name,
                "version": version,
                "purl": purl,
                "licenses": [{"expression": "Apache-2.0"}],
            }
        },
        "components": components,
        "dependencies": [{"ref": purl, "dependsOn": [each["purl"] for each in components]}],
    }


def _crate(package: dict[str, object]) -> Crate:
    # Some crates still separate alternatives with a slash, as Cargo did before SPDX.
    licence = re.sub(r"\s*/\s*", " OR ", str(package["license"]))
    authors = tuple(re.sub(r"\s*<[^>]*>", "", author) for author in package["authors"])  # type: ignore[attr-defined]
    folder = Path(str(package["manifest_path"])).parent
    return Crate(str(package["name"]), str(package["version"]), licence, authors, folder)
