"""Distribution files: what they may say, how they extend each other, and where a fault is."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from newel_compose import MAX_BYTES, Distribution, load_yaml
from newel_compose._internal.distribution import read_distribution
from newel_kernel import ConfigurationError


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(dedent(text), encoding="utf-8")
    return path


def refused(path: Path) -> str:
    """The message for a wrong file, its folder left out."""
    with pytest.raises(ConfigurationError) as caught:
        read_distribution(path, {})
    return str(caught.value).replace(f"{path.parent}/", "")


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    base = write(
        tmp_path,
        "base",
        """
        plugins: [one, two]
        request_chain: [one, two]
        disable: [three]
        replace: {one: two}
        services: {session: "memory:", artifact: "memory:"}
        settings:
          one: {loud: true, speed: 3}
          two: {x: 1}
        """,
    )
    return {"base": base}


def test_a_file_is_named_after_itself_unless_it_says_otherwise(tmp_path: Path) -> None:
    assert read_distribution(write(tmp_path, "mine", "plugins: [a]"), {}).name == "mine"
    assert read_distribution(write(tmp_path, "mine", "name: house"), {}).name == "house"


def test_a_name_and_a_path_are_both_taken(folders: dict[str, Path]) -> None:
    by_name = read_distribution("base", folders)
    assert by_name == read_distribution(folders["base"], {})
    assert by_name.source == str(folders["base"])
    assert by_name.autoload is False


def test_a_child_adds_to_lists_of_plugins_and_mappings_and_replaces_chains(
    tmp_path: Path, folders: dict[str, Path]
) -> None:
    child = write(
        tmp_path,
        "child",
        """
        extends: base
        autoload: true
        plugins: [two, four]
        request_chain: [four]
        disable: [five]
        replace: {six: four}
        services: {session: "sqlite:///x.db"}
        settings: {one: {speed: 4}}
        """,
    )
    made = read_distribution(child, folders)
    assert made.name == "child"
    assert made.extends == "base"
    assert made.autoload is True
    assert made.plugins == ("one", "two", "four")
    assert made.request_chain == ("four",)
    assert made.disable == ("three", "five")
    assert made.replace == {"one": "two", "six": "four"}
    assert made.services == {"session": "sqlite:///x.db", "artifact": "memory:"}
    assert made.settings == {"one": {"loud": True, "speed": 4}, "two": {"x": 1}}
    assert made.source == str(child)


def test_what_a_child_leaves_out_is_its_parents(tmp_path: Path, folders: dict[str, Path]) -> None:
    made = read_distribution(write(tmp_path, "child", "extends: base"), folders)
    base = read_distribution("base", folders)
    for name in Distribution.model_fields.keys() - {"name", "extends", "source"}:
        assert getattr(made, name) == getattr(base, name), name


def test_a_path_to_extend_is_relative_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    write(tmp_path, "root", "plugins: [a]")
    write(tmp_path / "deep", "middle", "extends: ../root.yaml\nplugins: [b]")
    leaf = write(tmp_path, "leaf", "extends: deep/middle.yaml\nplugins: [c]")
    assert read_distribution(leaf, {}).plugins == ("a", "b", "c")


def test_a_circle_is_shown(tmp_path: Path) -> None:
    files = {name: write(tmp_path, name, f"extends: {other}") for name, other in (("a", "b"), ("b", "c"), ("c", "a"))}
    with pytest.raises(ConfigurationError, match="a -> b -> c -> a"):
        read_distribution("a", files)


def test_an_unknown_name_has_a_hint_and_the_known_ones() -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_distribution("standart", {"standard": Path("x"), "adk": Path("y")})
    assert str(caught.value) == (
        "unknown distribution 'standart'; did you mean 'standard'? (known: adk, standard; or give a YAML file)"
    )


def test_a_file_that_is_not_there_is_an_unknown_distribution(tmp_path: Path) -> None:
    assert "unknown distribution" in refused(tmp_path / "gone.yaml")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name: x\nplugin: [a]\n", "it.yaml:2: unknown key 'plugin'; did you mean 'plugins'?"),
        ("name: x\n\nautoload: often\n", "it.yaml:3: autoload: Input should be a valid boolean"),
        ("services:\n  session: 3\n", "it.yaml:1: services.session: expected a string, not int"),
        ("- a\n- b\n", "it.yaml:1: a distribution is a mapping, not list"),
        ("", "it.yaml:1: a distribution is a mapping, not NoneType"),
        ("name: x\nname: y\n", "it.yaml:2: the key 'name' appears twice"),
        ("settings:\n  a: {x: 1, x: 2}\n", "it.yaml:2: the key 'x' appears twice"),
        ("plugins: &p [a]\ndisable: *p\n", "it.yaml:2: aliases are not allowed"),
        ("name: [unclosed\n", "it.yaml:2: "),
        ("name: !!python/object/apply:os.getcwd []\n", "it.yaml:1: could not determine a constructor"),
        ("name: \x07\n", "it.yaml:1: not valid YAML"),
    ],
)
def test_a_fault_names_file_line_and_key(tmp_path: Path, text: str, expected: str) -> None:
    assert refused(write(tmp_path, "it", text)).startswith(expected)


def test_a_file_that_is_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    problem = refused(write(tmp_path, "it", "[" * 4000))
    # The second is PyYAML's own, from 6.0.4 on.
    assert problem in ("it.yaml:1: nested too deeply", "it.yaml:1: exceeded maximum nesting depth")


def test_all_faults_of_a_file_are_listed(tmp_path: Path) -> None:
    message = refused(write(tmp_path, "it", "plugin: [a]\nautoload: often\nrequest_chian: [b]\n"))
    assert [line.partition(": ")[0] for line in message.splitlines()] == ["it.yaml:2", "it.yaml:1", "it.yaml:3"]


def test_a_huge_file_is_refused_unread() -> None:
    with pytest.raises(ConfigurationError, match="larger than 256 KiB"):
        load_yaml("x: " + "a" * MAX_BYTES, "big.yaml")


def test_a_distribution_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Distribution(name="x").name = "y"  # type: ignore[misc]


def test_a_file_that_is_not_in_utf_8_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "latin.yaml"
    path.write_bytes("extends: adk\nname: caf\u00e9\n".encode("latin-1"))
    assert refused(path) == "latin.yaml:2: not UTF-8 text (invalid continuation byte); save the file in UTF-8"
