"""One function out of a released wheel, so that released code itself is the subject.

The wheel is fetched by pip once, into a folder for caches, and its hash is checked each
time. Of the module only the function and the imports from outside its package are run.
"""

import ast
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_PATIENCE_S = 120
_OPTIONS = ("--no-deps", "--retries=1", "--timeout=15")


class UnavailableError(Exception):
    """A wheel is not in the cache and could not be fetched, or is another."""


@dataclass(frozen=True)
class Wheel:
    """A released file.

    Attributes:
        requirement: What pip is asked for.
        file: Name of the file.
        sha256: Hash of its bytes.
    """

    requirement: str
    file: str
    sha256: str

    def path(self) -> Path:
        """Return where the wheel is, after fetching it if need be.

        Raises:
            UnavailableError: It cannot be had.
        """
        path = _cache() / self.file
        if not path.is_file():
            self._fetch(path)
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != self.sha256:
            raise UnavailableError(f"{path} has the hash {found}, not {self.sha256}")
        return path

    def function(self, module: str, name: str) -> Callable[..., None]:
        """Load a function of a module in the wheel.

        Args:
            module: Path of the module in the wheel.
            name: Name of the function.

        Raises:
            UnavailableError: The wheel cannot be had, or has no such function.
        """
        with zipfile.ZipFile(self.path()) as wheel:
            tree = ast.parse(wheel.read(module))
        tree.body = [node for node in tree.body if _is_needed(node, name)]
        namespace: dict[str, object] = {"__name__": f"{self.requirement}:{module}"}
        exec(compile(tree, f"{self.file}/{module}", "exec"), namespace)  # noqa: S102 - it is what shall be run
        function = namespace.get(name)
        if not callable(function):
            raise UnavailableError(f"{self.file} has no function {name} in {module}")
        return function

    def _fetch(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=path.parent) as folder:
                pip = [sys.executable, "-m", "pip", "download", "--quiet", *_OPTIONS]
                subprocess.run(  # noqa: S603 - its arguments are constants
                    [*pip, "--only-binary=:all:", f"--dest={folder}", self.requirement],
                    check=True,
                    capture_output=True,
                    timeout=_PATIENCE_S,
                )
                Path(folder, self.file).replace(path)
        except (OSError, subprocess.SubprocessError) as error:
            raise UnavailableError(
                f"cannot fetch {self.requirement}: {error}"
            ) from error


def _cache() -> Path:
    home = Path.home() / ".cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or home) / "racecheck" / "wheels"


def _is_needed(node: ast.stmt, name: str) -> bool:
    match node:
        case ast.Import():
            return True
        case ast.ImportFrom(level=0):
            return True
        case ast.FunctionDef():
            return node.name == name
        case _:
            return False
