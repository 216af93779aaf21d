"""The mutants of the shipped subjects that hold: those with a name, and all small ones.

Each repaired variant is changed in one place, in the ways that people get wrong, and
then in every place by leaving a statement out or changing the order of two. `named` and
`generated` return them; what cannot be found out says why.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from tests.scenarios.mutants import deletions, replaced, swaps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.scenarios.mutants import Mutant

LINKS, PIECES = "ensure_symlink/links.py", "ensure_symlink/pieces.py"
OVERLAY, STAGES = "overlay/overlay.py", "overlay/pieces.py"
EVICTION = "names/eviction.py"
WRITERS, FILLING = "head_image/writers.py", "head_image/filling.py"
TEMP_NAMES = "head_image/temp_names.py"
EVICTORS, SWEEPERS = "eviction/evictors.py", "eviction/sweepers.py"


def _of(system: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{system}/{name}" for name in names)


ATOMIC = _of(
    "ensure_symlink",
    *("right_link/atomic", "absent/atomic", "no_folder/atomic", "stale_link/atomic"),
    *("changed_link/atomic", "wrong_link/atomic", "same_pid/atomic"),
    *("refused/atomic", "killed/atomic", "stale_folder/exchange"),
    "changed_folder/exchange",
)
EXCHANGE = _of(
    "ensure_symlink",
    *("stale_folder/exchange", "changed_folder/exchange", "changed_link/exchange"),
    *("refused/exchange", "stale_link/exchange"),
)
FLOCK = _of(
    "ensure_symlink",
    *("absent/flock", "no_folder/flock", "stale_link/flock", "stale_folder/flock"),
    *("killed/flock", "stalled/flock", "right_link/flock"),
)
FILELOCK = _of(
    "ensure_symlink",
    *("right_link/filelock", "absent/filelock", "no_folder/filelock"),
    *("stale_link/filelock", "stale_folder/filelock"),
)
FIXED = _of(
    "overlay",
    *("warm/fixed", "disk_full/fixed", "rename_fails/fixed", "close_fails/fixed"),
    *("rebuilt/fixed", "same_pid/fixed", "marked/fixed", "killed/fixed"),
    "listing_server/fixed",
)
STAGE = _of(
    "overlay",
    *("warm/stage_folder", "disk_full/stage_folder", "rename_fails/stage_folder"),
    *("same_pid/stage_folder", "marked/stage_folder", "killed/stage_folder"),
)
IMAGE = _of(
    "head_image",
    *("two_cold_serves/pid", "failing_close/pid", "failing_calls/pid", "killed/pid"),
    *("full_path/pid", "long_name/pid", "short_writes/pid"),
)

SPLIT_LOCK = (
    "the file goes only after the link was made: who has the other lock finds it right"
)


def named() -> list[Mutant]:
    """Return the mistakes that people make, by what they are."""
    return [
        replaced(
            "the temp link is shared",
            PIECES,
            'return link.with_name(f"{link.name}.tmp.{secrets.token_hex(8)}")',
            'return link.with_name(f"{link.name}.tmp")',
            *ATOMIC,
        ),
        replaced(
            "the temp link is named by the process id",
            PIECES,
            "secrets.token_hex(8)",
            "os.getpid()",
            *ATOMIC,
        ),
        replaced(
            "the temp link stays after an error",
            PIECES,
            "            clean_up(temp)\n",
            "",
            *ATOMIC,
        ),
        replaced(
            "the link is removed before it is replaced",
            PIECES,
            "            publish(temp, link)\n",
            "            link.unlink(missing_ok=True)\n"
            "            publish(temp, link)\n",
            *ATOMIC,
        ),
        replaced(
            "a link that is right is made again",
            PIECES,
            "        if is_right(link, target):\n            return\n",
            "",
            *ATOMIC,
        ),
        replaced(
            "the folder of a link has to be new",
            PIECES,
            "        link.parent.mkdir(parents=True, exist_ok=True)\n        temp",
            "        if not link.parent.exists():\n"
            "            link.parent.mkdir(parents=True)\n        temp",
            *ATOMIC,
        ),
        replaced(
            "the folder is removed and not exchanged",
            PIECES,
            "        _swap(temp, link)\n",
            "        shutil.rmtree(link)\n        temp.replace(link)\n        return\n",
            *EXCHANGE,
        ),
        replaced(
            "what was exchanged stays",
            PIECES,
            "        _remove(temp)\n\n",
            "\n",
            *EXCHANGE,
        ),
        replaced(
            "the lock is shared by readers",
            PIECES,
            "fcntl.LOCK_EX",
            "fcntl.LOCK_SH",
            *FLOCK,
        ),
        replaced(
            "the lock is never taken",
            PIECES,
            "        fcntl.flock(fd, fcntl.LOCK_EX)\n",
            "",
            *FLOCK,
        ),
        replaced(
            "the lock file is deleted on release",
            PIECES,
            "    with _locked_file(path):\n        yield\n",
            "    with _locked_file(path):\n        yield\n"
            "        path.unlink(missing_ok=True)\n",
            *FLOCK,
            harmless=SPLIT_LOCK,
        ),
        replaced(
            "the merged lock is never taken",
            LINKS,
            '    with FileLock(f"{link}.lock", timeout=LOCK_PATIENCE_S):\n',
            "    if link:\n",
            *FILELOCK,
        ),
        replaced(
            "the temp files of an overlay are shared",
            OVERLAY,
            'temp = path.with_name(f"{path.name}.tmp.{unique}")',
            'temp = path.with_name(f"{path.name}.tmp")',
            *FIXED,
        ),
        replaced(
            "the temp files of an overlay are named by the process id",
            OVERLAY,
            "    unique = secrets.token_hex(8)\n",
            "    unique = str(os.getpid())\n",
            *FIXED,
        ),
        replaced(
            "the temp files of an overlay look like weights",
            OVERLAY,
            'temp = path.with_name(f"{path.name}.tmp.{unique}")',
            'temp = path.with_name(f"{unique}.tmp.{path.name}")',
            *FIXED,
        ),
        replaced(
            "the temp files of an overlay stay after an error",
            OVERLAY,
            "        with suppress(OSError):\n"
            "            temp.unlink()\n"
            "        raise\n",
            "        raise\n",
            *FIXED,
        ),
        replaced(
            "the config is linked again",
            OVERLAY,
            "        if name != CONFIG_NAME:\n",
            "        if name:\n",
            *FIXED,
        ),
        replaced(
            "the config is written in its place",
            OVERLAY,
            "    with _replacing(overlay / CONFIG_NAME, unique) as temp:\n"
            "        temp.write_text",
            "    if unique:\n        (overlay / CONFIG_NAME).write_text",
            *FIXED,
        ),
        replaced(
            "the marker comes first",
            OVERLAY,
            "    unique = secrets.token_hex(8)\n",
            "    unique = secrets.token_hex(8)\n"
            "    with _replacing(overlay / MARKER_NAME, unique) as temp:\n"
            "        temp.write_text(marker_text(overrides))\n",
            *FIXED,
        ),
        replaced(
            "a finished overlay is built again",
            OVERLAY,
            "    if is_finished(overlay, overrides):\n        return\n"
            "    overlay.mkdir(parents=True, exist_ok=True)\n"
            "    unique",
            "    overlay.mkdir(parents=True, exist_ok=True)\n    unique",
            *FIXED,
        ),
        replaced(
            "the staged folder stays after an error",
            STAGES,
            "        shutil.rmtree(stage, ignore_errors=True)\n",
            "",
            *STAGE,
        ),
        replaced(
            "who comes second with a staged folder fails",
            STAGES,
            "        if not is_finished(overlay, overrides):\n            raise\n",
            "        raise\n",
            *STAGE,
        ),
        replaced(
            "the staged folder is shared",
            STAGES,
            "    stage = temp_of(overlay)\n",
            '    stage = overlay.with_name(f"{overlay.name}.tmp.1")\n',
            *STAGE,
        ),
        replaced(
            "a file that is gone stops an evictor",
            EVICTION,
            "        with suppress(FileNotFoundError):\n"
            "            os.unlink(folder / name)\n"
            "            removed += 1\n",
            "        os.unlink(folder / name)\n        removed += 1\n",
            *_of("names", "two_evictors/missing_ok", "evicted_file/open"),
        ),
        replaced(
            "the temp file of an image is shared",
            TEMP_NAMES,
            'return Path(f"{path}.tmp.{os.getpid()}")',
            'return Path(f"{path}.tmp")',
            *IMAGE,
        ),
        replaced(
            "the random part of a temp name is the same for all",
            TEMP_NAMES,
            "secrets.token_hex(4)",
            "'0'",
            *_of("head_image", "same_pid/unique"),
        ),
        replaced(
            "the number of a write is the same for all",
            TEMP_NAMES,
            'return Path(f"{pid_temp(path)}.{next(_writes)}")',
            'return Path(f"{pid_temp(path)}.1")',
            *_of("head_image", "two_threads/counted"),
        ),
        replaced(
            "the temp file of an image stays after an error",
            WRITERS,
            "        remove(temp)\n        return False\n    return True\n\n\n@data",
            "        return False\n    return True\n\n\n@data",
            *IMAGE,
        ),
        replaced(
            "a name that does not fit is used as it is",
            WRITERS,
            "    temp = pid_temp(path)\n    if not fits(temp):\n        return False\n",
            "    temp = pid_temp(path)\n",
            *IMAGE,
            harmless=REFUSED_BY_KERNEL,
        ),
        replaced(
            "an error of a close is ignored",
            FILLING,
            "    try:\n        write_all(fd, sections)\n    finally:\n"
            "        os.close(fd)\n",
            "    try:\n        write_all(fd, sections)\n    finally:\n"
            "        with suppress(OSError):\n            os.close(fd)\n",
            *IMAGE,
        ),
        replaced(
            "a short write is taken for a whole one",
            FILLING,
            "        while rest:\n            rest = rest[os.write(fd, rest) :]\n",
            "        os.write(fd, rest)\n",
            *IMAGE,
        ),
        replaced(
            "what was put aside is not looked at",
            EVICTORS,
            "    chosen = found is not None and found.inode == entry.inode\n",
            "    chosen = found is not None\n",
            *_of("eviction", "put_back/aside-pid"),
        ),
        replaced(
            "an evictor takes no lock",
            EVICTORS,
            '"locked": Eviction(choose=excess_of_images, guard=locked)',
            '"locked": Eviction(choose=excess_of_images)',
            *_of("eviction", "replaced_under_lock/locked-folder_locked"),
        ),
        replaced(
            "temp files are taken for entries",
            EVICTORS,
            '"skip_temps": Eviction(choose=excess_of_images)',
            '"skip_temps": Eviction()',
            *_of("eviction", "live_temp/skip_temps-pid"),
        ),
        replaced(
            "the entry in use is evicted",
            EVICTORS,
            "if entry.name != current]",
            "if entry.name]",
            *_of("eviction", "on_write/pid-keep_current"),
        ),
        replaced(
            "a sweeper takes every process for dead",
            SWEEPERS,
            "    yield not _lives(",
            "    yield bool(",
            *_of("eviction", "stalled_writer/of_the_dead-pid"),
        ),
        replaced(
            "a sweeper removes what is as old as the window",
            SWEEPERS,
            "return age_ns > WINDOW_S",
            "return age_ns >= WINDOW_S",
            *_of("eviction", "window/by_age"),
        ),
    ]


def generated() -> Iterator[Mutant]:
    """Yield every mutant that lacks a statement, or has two in another order."""
    for module, function, selection in (
        (PIECES, "replaced", ATOMIC),
        (PIECES, "exchange", EXCHANGE),
        (PIECES, "_remove", EXCHANGE),
        (PIECES, "locked", FLOCK),
        (PIECES, "_locked_file", FLOCK),
        (LINKS, "ensure_filelock", FILELOCK),
        (OVERLAY, "build_fixed", FIXED),
        (OVERLAY, "_replacing", FIXED),
        (STAGES, "build_stage_folder", STAGE),
        (WRITERS, "write_pid", IMAGE),
        (FILLING, "fill", IMAGE),
        (FILLING, "write_all", IMAGE),
    ):
        for make in (deletions, swaps):
            for mutant in make(module, function, *selection):
                why = HARMLESS.get((module, mutant.name), "")
                yield dataclasses.replace(mutant, harmless=why)


REFUSED_BY_KERNEL = "the kernel allows no longer names, and refuses it too"
PRIVATE = "nobody else sees the staged folder before it is whole"
NAMED_ONLY = "a name is chosen a little earlier, and nothing is done with it"

MADE_BY_LOCK = "filelock makes the folder of its lock file by itself"

HARMLESS: dict[tuple[str, str], str] = {
    (WRITERS, "write_pid without `if not fits(temp):`"): REFUSED_BY_KERNEL,
    (
        WRITERS,
        "write_pid without `return False` in `if not fits(temp):`",
    ): REFUSED_BY_KERNEL,
    (
        WRITERS,
        "write_pid with `try:` before `if not fits(temp):`",
    ): REFUSED_BY_KERNEL,
    (
        LINKS,
        "ensure_filelock without `link.parent.mkdir(parents=True, exist_ok=True)`",
    ): MADE_BY_LOCK,
    (
        LINKS,
        (
            "ensure_filelock with `with FileLock(f'{link}.lock', "
            "timeout=LOCK_PATIENCE_S):` before "
            "`link.parent.mkdir(parents=True, exist_ok=True)`"
        ),
    ): MADE_BY_LOCK,
    (
        PIECES,
        (
            "replaced with `link.parent.mkdir(parents=True, exist_ok=True)` before "
            "`if is_right(link, target):`"
        ),
    ): "the folder of a link that is right is there, and is not made again",
    (
        PIECES,
        (
            "replaced with `temp = name(link)` before "
            "`link.parent.mkdir(parents=True, exist_ok=True)`"
        ),
    ): NAMED_ONLY,
    (
        OVERLAY,
        (
            "build_fixed with `unique = secrets.token_hex(8)` before "
            "`overlay.mkdir(parents=True, exist_ok=True)`"
        ),
    ): NAMED_ONLY,
    (
        STAGES,
        (
            "build_stage_folder with `stage = temp_of(overlay)` before "
            "`if is_finished(overlay, overrides):`"
        ),
    ): NAMED_ONLY,
    (
        STAGES,
        (
            "build_stage_folder with `(stage / CONFIG_NAME).write_text(config_text("
            "model, overrides))` before `for name in all_but_config(model):`"
        ),
    ): PRIVATE,
    (
        STAGES,
        (
            "build_stage_folder with `(stage / MARKER_NAME).write_text(marker_text("
            "overrides))` before `(stage / CONFIG_NAME).write_text(config_text(model, "
            "overrides))`"
        ),
    ): PRIVATE,
}
"""Generated mutants that no scenario can find out, with the reason."""
