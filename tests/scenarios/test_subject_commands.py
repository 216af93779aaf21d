"""The subjects as commands, started as a user would start them."""

import subprocess
import sys
from pathlib import Path

import pytest

from scenarios.head_image.geometry import FULL
from scenarios.overlay.model_folder import YARN_OVERRIDES, make_model
from scenarios.overlay.overlay import BUILDERS, build_fixed, marker_text, overlay_path
from scenarios.overlay.serving import load_config

ROOT = Path(__file__).parents[2]
WEIGHTS_NAME = "model-00001-of-00002.safetensors"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny-llama"
    make_model(folder)
    return folder


def run(subject: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", f"scenarios.{subject}", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("variant", ["pid", "shared", "unique", "inplace"])
def test_head_image_writes_and_reads_four_mebibytes(
    variant: str, tmp_path: Path
) -> None:
    path = tmp_path / "head.img"

    written = run("head_image", "write", path, "--variant", variant)
    read = run("head_image", "read", path)

    assert (written.returncode, written.stderr) == (0, "")
    assert (read.returncode, read.stderr) == (0, "")
    assert "is whole: 4210816 bytes" in read.stdout
    assert path.stat().st_size == FULL.file_nbytes


def test_head_image_says_in_one_line_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "head.img"
    missing = run("head_image", "read", path)
    (tmp_path / "head.img").mkdir()
    unreadable = run("head_image", "read", path)
    unwritable = run("head_image", "write", path, "--size", "small")

    for result, reason in (
        (missing, "missing"),
        (unreadable, "Is a directory"),
        (unwritable, "could not write"),
    ):
        assert result.returncode == 1
        assert result.stderr.startswith("head_image: ")
        assert result.stderr.count("\n") == 1
        assert reason in result.stderr


@pytest.mark.parametrize("variant", BUILDERS)
def test_overlay_makes_builds_and_shows(variant: str, tmp_path: Path) -> None:
    model = tmp_path / "tiny"
    made = run("overlay", "model", model)
    built = run("overlay", "build", model, "--variant", variant)
    shown = run("overlay", "show", built.stdout.strip())

    assert [result.returncode for result in (made, built, shown)] == [0, 0, 0]
    assert [result.stderr for result in (made, built, shown)] == ["", "", ""]
    assert Path(built.stdout.strip()) == overlay_path(model, YARN_OVERRIDES)
    assert "tokenizer.json  -> ../tiny/tokenizer.json\n" in shown.stdout
    assert f"built for: {marker_text(YARN_OVERRIDES)}\n" in shown.stdout
    assert '"rope_type": "yarn"' in shown.stdout


def test_overrides_come_as_text_or_from_a_file(model: Path, tmp_path: Path) -> None:
    (tmp_path / "overrides.json").write_text('{"rope_theta": 5.0}')

    from_text = run("overlay", "build", model, "--overrides", '{"rope_theta": 5.0}')
    from_file = run(
        "overlay", "build", model, "--overrides", tmp_path / "overrides.json"
    )

    assert from_text.stdout == from_file.stdout
    assert load_config(Path(from_text.stdout.strip()))["rope_theta"] == 5.0


def test_overlay_says_in_one_line_what_is_wrong(model: Path, tmp_path: Path) -> None:
    overlay = overlay_path(model, YARN_OVERRIDES)
    build_fixed(model, overlay, YARN_OVERRIDES)
    (tmp_path / "list.json").write_text("[]")
    (overlay / WEIGHTS_NAME).unlink()

    for result, reason in (
        (run("overlay", "model", model), "File exists"),
        (run("overlay", "build", tmp_path / "nowhere"), "No such file"),
        (run("overlay", "build", model, "--overrides", "{"), "not valid JSON"),
        (
            run("overlay", "build", model, "--overrides", tmp_path / "list.json"),
            "an object",
        ),
        (run("overlay", "show", tmp_path / "nowhere"), "No such file"),
        (run("overlay", "show", overlay), f"missing weights: {WEIGHTS_NAME}"),
    ):
        assert result.returncode == 1
        assert result.stderr.startswith("overlay: ")
        assert result.stderr.count("\n") == 1
        assert reason in result.stderr
