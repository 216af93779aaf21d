"""Guards how scenarios are found, imported and selected, and how mistakes are told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from racecheck.errors import ScenarioError, UsageError
from racecheck.scenario import Loaded, Scenario, load, quick_ones, select, split

if TYPE_CHECKING:
    from collections.abc import Iterator

ONE = """
    from racecheck.scenario import Scenario
    {variable} = Scenario("{name}")
    {variable}.writer(lambda: None, name="serve")
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Work in a folder of one's own and forget what was imported from it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    # The shipped scenarios, if other tests have imported them, have a usual name too.
    for name in [each for each in sys.modules if each.split(".")[0] == "scenarios"]:
        monkeypatch.delitem(sys.modules, name)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def write(path: str, text: str) -> Path:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(dedent(text))
    return file


def one(name: str, variable: str = "scenario") -> str:
    return dedent(ONE).format(name=name, variable=variable)


def refusal(*paths: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        load([Path(path) for path in paths])
    return str(caught.value)


def names(*paths: str) -> list[str]:
    return [each.name for each in load([Path(path) for path in paths])]


def test_a_file_is_imported_whatever_its_name(place: Path) -> None:
    file = write("anything.py", one("a/b"))

    (loaded,) = load([file])
    assert loaded.scenario.name == loaded.name == "a/b"
    assert (loaded.file, loaded.module, loaded.root) == (
        place / "anything.py",
        "anything",
        place,
    )


def test_in_folders_only_files_of_the_usual_names_are() -> None:
    for index, name in enumerate(
        [
            "x/scenario.py",
            "y/scenarios.py",
            "scenario_z.py",
            "z_scenario.py",
            "other.py",
            "x/notscenario.py",
            ".hidden/scenario_h.py",
            "__pycache__/scenario_p.py",
            "venv/lib/scenario_v.py",
        ]
    ):
        write(name, one(f"s{index}"))
    write("venv/pyvenv.cfg", "")

    assert names(".") == ["s2", "s3", "s0", "s1"]


def test_a_file_that_is_named_twice_is_loaded_once() -> None:
    write("scenarios.py", one("a"))

    assert names(".", "scenarios.py", "./scenarios.py") == ["a"]


def test_modules_import_each_other_by_their_package_names(place: Path) -> None:
    write("top/__init__.py", "")
    write("top/pack/__init__.py", "")
    write("top/pack/writers.py", "def write_it(): ...")
    write(
        "top/pack/scenarios.py",
        """
        from racecheck.scenario import Scenario
        from top.pack.writers import write_it
        from .writers import write_it as same
        s = Scenario("s")
        s.over(write=[write_it])
        assert write_it is same
        s.writer(write_it)
        """,
    )

    (loaded,) = load([Path("top/pack")])
    assert (loaded.name, loaded.module) == ("s/write_it", "top.pack.scenarios")
    assert loaded.root == place


def test_a_scenario_that_two_modules_share_is_loaded_once() -> None:
    write("pack/__init__.py", "")
    write("pack/a_scenario.py", one("a"))
    write("pack/b_scenario.py", "from pack.a_scenario import scenario, scenario as t")

    assert names("pack") == ["a"]


def test_two_scenarios_of_one_name_are_refused() -> None:
    write("x_scenario.py", one("a"))
    write("y_scenario.py", one("a"))

    assert refusal(".") == (
        "two scenarios are called 'a': one in x_scenario.py and one in y_scenario.py"
    )


def test_files_of_one_module_name_are_refused() -> None:
    write("x/scenario.py", one("x"))
    write("y/scenario.py", one("y"))

    assert refusal(".") == (
        "y/scenario.py would be imported as 'scenario', which is x/scenario.py already;"
        " rename one, or put an __init__.py beside it"
    )


def test_a_file_called_like_a_module_of_python_is_refused() -> None:
    write("sys.py", one("x"))

    assert "imported as 'sys', which is a module of Python" in refusal("sys.py")


def test_a_malformed_scenario_is_told_with_its_file() -> None:
    write("scenario.py", "from racecheck.scenario import Scenario\ns = Scenario('s')")

    assert refusal(".") == "scenario.py: s: has no actor, so nothing would run"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "import os\nraise ValueError('two\\nlines')",
            "scenario.py:2: ValueError: two lines",
        ),
        ("import os\nraise ValueError", "scenario.py:2: ValueError"),
        (
            "import no_such_module",
            "scenario.py:1: ModuleNotFoundError: No module named 'no_such_module'",
        ),
        ("x = 1\nif x\n    pass", "scenario.py:2: SyntaxError: expected ':'"),
        ("import sys\nsys.exit(3)", "scenario.py:2: SystemExit: 3"),
        ("raise GeneratorExit", "scenario.py:1: GeneratorExit"),
        (
            "import pytest\npytest.importorskip('no_such_module')",
            "scenario.py:2: Skipped: could not import 'no_such_module'",
        ),
        (
            "class Shy(Exception):\n    def __str__(self): raise SystemExit\nraise Shy",
            "scenario.py:3: Shy",
        ),
        (
            "import json\n\njson.loads('no')",
            "scenario.py:3: JSONDecodeError: Expecting value: line 1 column 1",
        ),
        (
            "from racecheck.scenario import Scenario\n\nScenario('a b')",
            "scenario.py:3: a scenario's name is made of",
        ),
    ],
)
def test_a_file_that_raises_is_told_in_one_line(text: str, message: str) -> None:
    write("scenario.py", text)

    told = refusal(".")
    assert told.startswith(message)
    assert "\n" not in told


def test_what_a_file_holds_beside_scenarios_is_not_asked_what_it_is() -> None:
    text = """
        class Other:
            def __getattribute__(self, name):
                raise RuntimeError(name)
        other = Other()
    """
    write("scenario_other.py", one("a") + dedent(text))

    assert names("scenario_other.py") == ["a"]


def test_a_package_that_raises_is_told_with_its_scenario() -> None:
    write("pack/__init__.py", "raise OSError('no')")
    write("pack/scenario.py", one("a"))

    assert refusal("pack") == "pack/scenario.py: OSError: no"


def test_ctrl_c_at_import_passes() -> None:
    write("scenario.py", "raise KeyboardInterrupt")

    with pytest.raises(KeyboardInterrupt):
        load([Path("scenario.py")])


def test_a_syntax_error_of_no_file_is_told_all_the_same() -> None:
    write("scenario.py", "raise SyntaxError('odd')")

    assert refusal(".") == "scenario.py:1: SyntaxError: odd"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("missing", "missing is no file and no folder"),
        ("text.txt", "text.txt is no Python file"),
        ("a.b.py", "a.b.py has a dot in its module name"),
        (".", "no scenario in ."),
    ],
)
def test_paths_that_hold_no_scenario_are_refused(path: str, message: str) -> None:
    write("text.txt", "")
    write("a.b.py", "")

    assert refusal(path) == message


def test_no_path_at_all_is_refused() -> None:
    assert refusal() == "no scenario in no path"


def test_a_path_outside_the_current_folder_is_shown_in_full(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("scenario.py", "1 / 0")
    (place / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")

    assert refusal(str(place)).startswith(f"{place}/scenario.py:1: ZeroDivisionError")


def found(*scenario_names: str, **tags: str) -> list[Loaded]:
    return [
        Loaded(Scenario(name, tags=tags.get(name, ())), Path("/f.py"), "f", Path("/"))
        for name in scenario_names
    ]


TREE = ("image/two/shared", "image/two/pid", "image/three", "overlay")


@pytest.mark.parametrize(
    ("globs", "selected"),
    [
        ([], TREE),
        (["overlay"], ("overlay",)),
        (["image/two"], ("image/two/shared", "image/two/pid")),
        (["image/two/"], ("image/two/shared", "image/two/pid")),
        (["*/pid", "overlay"], ("image/two/pid", "overlay")),
        (["overlay", "image/*"], TREE),
    ],
)
def test_names_and_globs_select(globs: list[str], selected: tuple[str, ...]) -> None:
    chosen = select(found(*TREE), globs)

    assert tuple(each.name for each in chosen) == selected


@pytest.mark.parametrize(
    ("globs", "selected"),
    [
        (["B13"], ("one", "two")),
        (["B1"], ("three",)),
        (["B1*"], ("one", "two", "three")),
        (["three", "B13"], ("one", "two", "three")),
    ],
)
def test_tags_select_as_names_do(globs: list[str], selected: tuple[str, ...]) -> None:
    tagged = found("one", "two", "three", "four", one="B13", two="B13", three="B1")

    assert tuple(each.name for each in select(tagged, globs)) == selected


def test_a_quick_look_takes_what_is_tagged_for_it_or_all() -> None:
    tagged = found("one", "two", "three", two="quick")

    assert [each.name for each in quick_ones(tagged)] == ["two"]
    assert quick_ones(tagged[:1]) == (tagged[0],)


def test_a_close_tag_is_told() -> None:
    with pytest.raises(ScenarioError, match="close to it: B13"):
        select(found("one", one="B13"), ["B31"])


@pytest.mark.parametrize(
    ("glob", "message"),
    [
        ("overlya", "no scenario is called 'overlya'; close to it: overlay"),
        ("imaeg/two", "no scenario is called 'imaeg/two'; close to it: image/two"),
        ("zzz*", "no scenario is called 'zzz*'; `racecheck list` shows what there is"),
    ],
)
def test_a_name_that_matches_nothing_is_refused(glob: str, message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        select(found(*TREE), ["image/*", glob])

    assert str(caught.value).startswith(message)


def test_arguments_are_paths_where_they_exist() -> None:
    write("scenarios/scenario.py", "")

    assert split(["scenarios", "image/*", "scenarios/scenario.py", ""]) == (
        (Path("scenarios"), Path("scenarios/scenario.py")),
        ("image/*", ""),
    )


@pytest.mark.parametrize("argument", ["no.py", "no/", "./no", "/no/no", "~no"])
def test_an_argument_that_can_only_be_a_path_has_to_exist(argument: str) -> None:
    with pytest.raises(UsageError, match="is no file and no folder"):
        split([argument])


def test_scenarios_load_without_anything_made_for_people() -> None:
    # Actor processes are forked from one that has imported this.
    code = (
        "import sys, racecheck.scenario; "
        "print({'click', 'rich', 'hypothesis', 'pytest', 'jinja2'} & set(sys.modules))"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, check=True
    )
    assert done.stdout == b"set()\n"
