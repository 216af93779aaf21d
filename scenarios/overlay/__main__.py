"""Make a sample model, build an overlay of a model, or show one."""

import argparse
import json
import sys
from pathlib import Path

from scenarios.overlay.model_folder import YARN_OVERRIDES, make_model
from scenarios.overlay.overlay import BUILDERS, MARKER_NAME, Overrides, overlay_path
from scenarios.overlay.serving import load_config, manifest, missing_weights


def main() -> int:
    """Run one command.

    Returns:
        0 if it did what it was asked to, 1 otherwise.
    """
    arguments = _parser().parse_args()
    commands = {"build": _build, "model": _model, "show": _show}
    try:
        return commands[arguments.command](arguments)
    except OSError as error:
        return _fail(f"{str(error.filename)!r}: {error.strerror}")
    except ValueError as error:
        return _fail(f"not valid JSON: {error}")


def _build(arguments: argparse.Namespace) -> int:
    # Without this, the model "." would have no name to derive the overlay's from.
    model = arguments.model.resolve()
    overrides = _read_overrides(arguments.overrides)
    overlay = overlay_path(model, overrides)
    BUILDERS[arguments.variant](model, overlay, overrides)
    print(overlay)
    return 0


def _model(arguments: argparse.Namespace) -> int:
    make_model(arguments.folder)
    print(arguments.folder)
    return 0


def _show(arguments: argparse.Namespace) -> int:
    overlay = arguments.overlay
    entries = manifest(overlay)
    for name, content in entries.items():
        print(f"{name}  {content}")
    marker = overlay / MARKER_NAME
    built_for = marker.read_text() if MARKER_NAME in entries else "not finished"
    print(f"built for: {built_for}")
    print(f"rope_scaling: {json.dumps(load_config(overlay).get('rope_scaling'))}")
    missing = missing_weights(overlay)
    return _fail(f"missing weights: {', '.join(missing)}") if missing else 0


def _read_overrides(argument: str | None) -> Overrides:
    if argument is None:
        return YARN_OVERRIDES
    is_text = argument.lstrip().startswith("{")
    overrides = json.loads(argument if is_text else Path(argument).read_text())
    if not isinstance(overrides, dict):
        raise ValueError(f"overrides must be an object, found {overrides!r}")  # noqa: TRY004 - it is the text that is wrong, not a caller
    return overrides


def _fail(message: str) -> int:
    print(f"overlay: {message}", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scenarios.overlay", description=__doc__
    )
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="build the overlay of a model")
    build.add_argument("model", type=Path, metavar="MODEL")
    build.add_argument(
        "--overrides",
        metavar="JSON|FILE",
        help="values to replace in config.json (default: YaRN to 131072 tokens)",
    )
    build.add_argument("--variant", choices=BUILDERS, default="fixed")
    model = commands.add_parser("model", help="make a sample model folder")
    model.add_argument("folder", type=Path, metavar="DIR")
    show = commands.add_parser("show", help="list an overlay and check it")
    show.add_argument("overlay", type=Path, metavar="OVERLAY")
    return parser


if __name__ == "__main__":
    sys.exit(main())
