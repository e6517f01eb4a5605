"""A pull request's templates are copied as data. Every form of attack on the privileged jobs is rejected."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml

from delivery import received
from delivery.received import Rejected
from project.paths import PROJECT

DIFF = yaml.safe_load((PROJECT / ".github" / "workflows" / "diff.yml").read_text())["jobs"]
#: The jobs that download files written by the pull request's own code.
HANDED = [
    name
    for name, job in DIFF.items()
    if any(step.get("with", {}).get("name") == "templates" for step in job["steps"]) and name != "synth"
]


def folder(path: Path, *names: str) -> Path:
    for name in names:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text("{}")
    return path


def hostile_archive() -> bytes:
    """An archive that would replace the base branch's Makefile, and its tools through a symbolic link."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        link = tarfile.TarInfo("head")
        link.type, link.linkname = tarfile.SYMTYPE, "node_modules/.bin"
        archive.addfile(link)
        for name in ("head/cdk", "Makefile", "delivery/received.py"):
            content = b"evil"
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def write_artifact(into: Path) -> None:
    """Writes the files that a hostile pull request uploads instead of templates."""
    into.mkdir(parents=True, exist_ok=True)
    (into / "templates.tar.gz").write_bytes(hostile_archive())
    for name in ("Makefile", "delivery/received.py", "node_modules/.bin/cdk", "head/cdk.json"):
        # A download into the checkout would overwrite its files.
        folder(into, name)
        (into / name).write_text("evil")


def contents(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def play(job: str, checkout: Path, temporary: Path) -> None:
    """Runs a job's steps from the download of the templates through the first step that uses the templates."""
    steps = DIFF[job]["steps"]
    first = next(i for i, step in enumerate(steps) if step.get("with", {}).get("name") == "templates")
    place = steps[first]["with"].get("path", ".").replace("${{ runner.temp }}", str(temporary))
    write_artifact(checkout / place)
    for step in steps[first + 1 :]:
        if "uses" in step:
            continue
        if "make" in step["run"]:
            return
        subprocess.run(
            ["bash", "-c", step["run"]],
            cwd=checkout,
            env=os.environ | {"RUNNER_TEMP": str(temporary)},
            check=False,
            capture_output=True,
        )


@pytest.mark.parametrize("job", HANDED)
def test_pull_request_artifacts_cannot_change_the_base_checkout(job: str, tmp_path: Path) -> None:
    checkout = folder(tmp_path / "checkout", "Makefile", "node_modules/.bin/cdk")
    shutil.copytree(PROJECT / "delivery", checkout / "delivery", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "temporary").mkdir()
    before = contents(checkout)
    play(job, checkout, tmp_path / "temporary")
    after = contents(checkout)
    assert {name: after.get(name) for name in before} == before
    # A single hostile entry causes the whole folder to be rejected.
    assert set(after) == set(before)


def test_all_privileged_jobs_with_artifacts_are_tested() -> None:
    assert HANDED == ["deployed", "render"]


class TestTaking:
    def test_templates_and_manifests_are_copied(self, tmp_path: Path) -> None:
        source = folder(tmp_path / "in", "A-dev.template.json", "manifest.json")
        names = received.take(source, tmp_path / "out")
        assert names == ["A-dev.template.json", "manifest.json"]
        assert sorted(contents(tmp_path / "out")) == names

    @pytest.mark.parametrize("name", ["Makefile", "cdk", "deeper/a.json", "a.json/b", "a b.json", "ä.json"])
    def test_an_unexpected_file_name_rejects_the_whole_folder(self, tmp_path: Path, name: str) -> None:
        source = folder(tmp_path / "in", "good.json", name)
        self.rejected(source, tmp_path)

    @pytest.mark.parametrize("target", ["/etc/passwd", "../../secret.json", "good.json"])
    def test_a_link_is_not_followed(self, tmp_path: Path, target: str) -> None:
        source = folder(tmp_path / "in", "good.json")
        (tmp_path / "secret.json").write_text("secret")
        (source / "link.json").symlink_to(target)
        self.rejected(source, tmp_path)

    def test_a_file_with_a_second_hard_link_is_rejected(self, tmp_path: Path) -> None:
        source = folder(tmp_path / "in", "good.json")
        (source / "hard.json").hardlink_to(source / "good.json")
        self.rejected(source, tmp_path)

    def test_a_pipe_is_rejected(self, tmp_path: Path) -> None:
        source = folder(tmp_path / "in", "good.json")
        os.mkfifo(source / "pipe.json")
        self.rejected(source, tmp_path)

    def test_too_many_files_and_a_file_that_is_too_large_are_rejected(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        source = folder(tmp_path / "in", *(f"{number}.json" for number in range(received.MOST_FILES + 1)))
        self.rejected(source, tmp_path)
        shutil.rmtree(source)
        monkeypatch.setattr(received, "MOST_BYTES", 1)
        self.rejected(folder(source, "a.json"), tmp_path)

    def test_an_empty_folder_is_rejected(self, tmp_path: Path) -> None:
        (tmp_path / "in").mkdir()
        self.rejected(tmp_path / "in", tmp_path)

    def test_existing_destination_is_rejected(self, tmp_path: Path) -> None:
        source = folder(tmp_path / "in", "good.json")
        (tmp_path / "out").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(Rejected, match="exists already"):
            received.take(source, tmp_path / "out")
        assert not (tmp_path / "elsewhere").exists()

    def test_a_rejection_has_exit_code_1(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        source = folder(tmp_path / "in", "Makefile")
        arguments = ["--from", str(source), "--into", str(tmp_path / "out")]
        assert received.main(arguments) == 1
        assert "templates rejected: 'Makefile' is not named like a template" in capsys.readouterr().err

    @staticmethod
    def rejected(source: Path, scratch: Path) -> None:
        with pytest.raises(Rejected):
            received.take(source, scratch / "out")
        assert not (scratch / "out").exists()
