"""The overlay: one builder alone makes the right folder, whichever builder it is."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios.overlay.model_folder import (
    CONFIG,
    YARN_OVERRIDES,
    make_compact_model,
    make_model,
)
from scenarios.overlay.overlay import (
    BUILDERS,
    CONFIG_NAME,
    MARKER_NAME,
    Builder,
    build_faulty,
    build_fixed,
    build_proposed,
    marker_text,
    merged_config,
    overlay_path,
)
from scenarios.overlay.serving import load_config, manifest, missing_weights

every_builder = pytest.mark.parametrize("build", BUILDERS.values(), ids=list(BUILDERS))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny-llama"
    make_model(folder)
    return folder


@pytest.fixture
def overlay(model: Path) -> Path:
    return overlay_path(model, YARN_OVERRIDES)


def times_of(folder: Path) -> dict[str, int]:
    return {path.name: path.lstat().st_ctime_ns for path in folder.iterdir()}


@every_builder
@pytest.mark.parametrize("make", [make_model, make_compact_model])
def test_a_single_builder_makes_the_whole_overlay(
    build: Builder, make: Callable[[Path], None], tmp_path: Path
) -> None:
    model = tmp_path / "model"
    make(model)
    source = manifest(model)
    overlay = overlay_path(model, YARN_OVERRIDES)

    build(model, overlay, YARN_OVERRIDES)

    links = {
        name: f"-> ../model/{name}" for name in manifest(model) if name != CONFIG_NAME
    }
    found = manifest(overlay)
    own = {name: found.pop(name) for name in (CONFIG_NAME, MARKER_NAME)}
    assert found == links
    assert all(content.startswith("sha256:") for content in own.values())
    assert (overlay / MARKER_NAME).read_text() == marker_text(YARN_OVERRIDES)
    assert load_config(overlay) == {**CONFIG, **YARN_OVERRIDES}
    assert missing_weights(overlay) == []
    assert manifest(model) == source


def test_all_builders_make_equal_overlays(model: Path, tmp_path: Path) -> None:
    for name, build in BUILDERS.items():
        build(model, tmp_path / name, YARN_OVERRIDES)

    assert manifest(tmp_path / "fixed") == manifest(tmp_path / "proposed")
    assert manifest(tmp_path / "fixed") == manifest(tmp_path / "faulty")


@every_builder
def test_a_second_build_does_nothing_where_the_marker_is(
    build: Builder, model: Path, overlay: Path
) -> None:
    build(model, overlay, YARN_OVERRIDES)
    before = times_of(overlay)

    build(model, overlay, YARN_OVERRIDES)

    assert times_of(overlay) == before


@every_builder
@pytest.mark.parametrize("marker", [None, "", '{"rope_theta": 1}'])
def test_a_build_without_the_right_marker_is_done_again(
    build: Builder, marker: str | None, model: Path, overlay: Path
) -> None:
    build(model, overlay, YARN_OVERRIDES)
    finished, source = manifest(overlay), manifest(model)
    (overlay / MARKER_NAME).unlink()
    if marker is not None:
        (overlay / MARKER_NAME).write_text(marker)
    (overlay / CONFIG_NAME).write_text("{")
    (overlay / "tokenizer.json").unlink()

    build(model, overlay, YARN_OVERRIDES)

    assert manifest(overlay) == finished
    assert manifest(model) == source


@every_builder
def test_a_dangling_link_in_the_overlay_is_replaced(
    build: Builder, model: Path, overlay: Path
) -> None:
    overlay.mkdir()
    (overlay / "tokenizer.json").symlink_to("nowhere")

    build(model, overlay, YARN_OVERRIDES)

    assert load_config(overlay) == {**CONFIG, **YARN_OVERRIDES}
    assert manifest(overlay)["tokenizer.json"] == f"-> ../{model.name}/tokenizer.json"


def test_the_fixed_builder_never_links_the_config(
    model: Path, overlay: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    symlink = os.symlink

    def recorded(source: str, link: Path, target_is_directory: bool) -> None:  # noqa: FBT001 - pathlib passes it so
        made.append(source)
        symlink(source, link, target_is_directory)

    monkeypatch.setattr(os, "symlink", recorded)

    build_fixed(model, overlay, YARN_OVERRIDES)
    assert f"../{model.name}/{CONFIG_NAME}" not in made

    build_proposed(model, overlay.with_name("proposed"), YARN_OVERRIDES)
    assert f"../{model.name}/{CONFIG_NAME}" in made


def test_the_faulty_builder_writes_through_a_link_that_came_back(
    model: Path, overlay: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlink = os.unlink

    def unlink_and_put_back(path: Path) -> None:
        unlink(path)
        os.symlink(f"../{model.name}/{CONFIG_NAME}", path)

    monkeypatch.setattr(os, "unlink", unlink_and_put_back)

    build_faulty(model, overlay, YARN_OVERRIDES)

    assert load_config(model) == {**CONFIG, **YARN_OVERRIDES}


def refuse(source: Path, _: Path) -> None:
    raise PermissionError(13, "Permission denied", str(source))


def test_the_fixed_builder_removes_its_temp_file_after_an_error(
    model: Path, overlay: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "replace", refuse)

    with pytest.raises(PermissionError) as caught:
        build_fixed(model, overlay, YARN_OVERRIDES)

    assert list(overlay.iterdir()) == []
    # Readers that look for weights or settings must not find a temp file.
    assert not str(caught.value.filename).endswith((".json", ".safetensors"))


def test_an_error_of_the_config_leaves_neither_config_nor_marker(
    model: Path, overlay: Path
) -> None:
    (model / CONFIG_NAME).write_text("{")

    with pytest.raises(json.JSONDecodeError):
        build_fixed(model, overlay, YARN_OVERRIDES)

    assert manifest(overlay).keys() == manifest(model).keys() - {CONFIG_NAME}


@given(st.dictionaries(st.text(max_size=4), json_values, max_size=4), st.randoms())
def test_the_name_depends_on_the_overrides_but_not_on_their_order(
    overrides: dict[str, object], random: Random
) -> None:
    items = list(overrides.items())
    random.shuffle(items)
    model = Path("models/tiny")

    path = overlay_path(model, overrides)

    assert path.parent == model.parent
    assert path.name.startswith("tiny-overlay-")
    assert len(path.name) == len("tiny-overlay-") + 12
    assert overlay_path(model, dict(items)) == path
    assert overlay_path(model, {**overrides, "longer": 1}) != path


def test_the_name_is_the_digest_that_others_compute() -> None:
    # printf %s '{"a": 1}' | sha256sum
    assert overlay_path(Path("m"), {"a": 1}) == Path("m-overlay-f9d86028c6e0")


def test_overrides_replace_whole_values_of_the_config(model: Path) -> None:
    merged = merged_config(model, {"rope_scaling": {"factor": 2.0}, "extra": [1]})

    assert merged == {**CONFIG, "rope_scaling": {"factor": 2.0}, "extra": [1]}
    assert load_config(model) == CONFIG
