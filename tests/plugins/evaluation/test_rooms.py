"""The room of evaluation: its code lies in rooms, and the modules beside them only give it the released names."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

import newel.evaluation

FOLDER = Path(newel.evaluation.__file__).parent
#: The door, and the face for authors of plugins.
FACES = {"__init__", "kinds", "plugin", "plugins"}
#: Constants that exist for their released name alone.
CONSTANTS = {"constants", "evaluation_constants"}
MIRRORS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in FACES | CONSTANTS)


@pytest.mark.parametrize("name", MIRRORS)
def test_a_released_module_gives_the_names_of_a_room(name: str) -> None:
    tree = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    assert [type(node) for node in tree.body if not isinstance(node, ast.ImportFrom)] == [ast.Expr, ast.Assign]
    sources = [node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert all(source.count(".") >= 3 for source in sources), "a mirror imports from the rooms"
    module = import_module(f"newel.evaluation.{name}")
    assert all(getattr(module, public) is not None for public in module.__all__)
