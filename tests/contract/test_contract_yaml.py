"""Reading YAML: core-schema scalars, positions of every part, and refusal of what is not one plain document."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridplan.contract.yaml import MAX_BYTES, MAX_DEPTH, Document, parse_document, read_document
from gridplan.errors import ContractError


def fault_of(text: str) -> str:
    """The first refusal of a text: a flaw, or the error that stopped the reading."""
    try:
        document = parse_document(text, "f.yaml")
    except ContractError as error:
        return str(error.problems[0])
    return str(document.flaws[0])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8.03e9", 8.03e9),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("0o17", 15),
        ("0x1F", 31),
        ("010", 10),
        ("+1", 1),
        ("-2", -2),
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("off", "off"),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("2025-04-28", "2025-04-28"),
        ("=", "="),
        ("'60'", "60"),
        ('"true"', "true"),
        ("0.9652509652509652", 0.9652509652509652),
    ],
)
def test_scalars_follow_the_core_schema(text: str, value: object) -> None:
    found = parse_document(f"a: {text}\n").data["a"]
    assert found == value
    assert type(found) is type(value)


def test_every_key_and_value_has_its_line_and_column() -> None:
    text = "# a comment\na:\n  - {x: 1, y: two}\n  - 3\nb: >-\n  folded\n"
    document = parse_document(text)
    assert document.keys[("a",)] == (2, 1)
    assert document.keys[("a", 0, "y")] == (3, 12)
    assert document.values[("a", 0, "y")] == (3, 15)
    assert document.values[("a", 1)] == (4, 5)
    assert document.position(("a",)) == (2, 1)
    assert document.position(("a", 0, "missing")) == (3, 5)
    assert document.position(("nowhere",)) is None
    assert document.data["b"] == "folded"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("- 1\n- 2\n", "f.yaml:1:1: is a list; a contract is a mapping that starts with `schema: 1`"),
        ("hello\n", "f.yaml:1:1: is a single value; a contract is a mapping that starts with `schema: 1`"),
        ("", "f.yaml: is empty; a contract starts with `schema: 1`"),
        ("# only a comment\n", "f.yaml: is empty; a contract starts with `schema: 1`"),
        ("---\n...\n", "f.yaml: is empty; a contract starts with `schema: 1`"),
        ("a: 1\nb: 2\na: 3\n", "f.yaml:3:1: a: is given twice; first on line 1"),
        ("a: {b: 1, b: 2}\n", "f.yaml:1:11: a.b: is given twice; first on line 1"),
        ("a: &x [1]\n", "f.yaml:1:4: a: &x: anchors are not allowed"),
        ("a: *x\n", "f.yaml:1:4: a: *x: aliases are not allowed; write the value out"),
        ("a: !!int 3\n", "f.yaml:1:4: a: tag:yaml.org,2002:int: tags are not allowed; write the value plainly"),
        ("a: !!python/object/apply:os.system [ls]\n", "f.yaml:1:4: a: tag:yaml.org,2002:python/object/apply:os.system: "
         "tags are not allowed; write the value plainly"),
        ("a: 1\nb: .nan\n", "f.yaml:2:4: b: .nan is not a finite number"),
        ("a: -.inf\n", "f.yaml:1:4: a: -.inf is not a finite number"),
        ("a: 1e999\n", "f.yaml:1:4: a: 1e999 is too large a number"),
        (f"a: {'9' * 5000}\n", f"f.yaml:1:4: a: {'9' * 40}... has too many digits"),
        (f"a: 0x{'f' * 300}\n", f"f.yaml:1:4: a: 0x{'f' * 38} is too large a number"),
        ("a: 1\n---\nb: 2\n", "f.yaml:2:1: a second document starts here; a contract is one document"),
        ("%TAG ! tag:x,2000:\n---\na: 1\n", "f.yaml:1:1: %TAG is not allowed"),
        ("? [a]\n: 1\n", "f.yaml:1:3: a key must be a plain text"),
        ('"": 1\n', "f.yaml:1:1: a name must be printable text on one line"),
        ('"a\\nb": 1\n', "f.yaml:1:1: 'a\\nb': a name must be printable text on one line"),
        ('a: "\\ud800"\n', "f.yaml:1:4: a: holds an escape that is not a character"),
        ('a: "\\UFFFFFFFF"\n', "f.yaml: an escape in a quoted text is not a character"),
        ("a: x\x07y\n", "f.yaml:1:5: the character U+0007 is not allowed in YAML"),
        ("a: [1, 2\nb: 3\n", "f.yaml:2:2: while parsing a flow sequence, expected ',' or ']', but got ':'"),
        ("a: 'x\n", "f.yaml:2:1: while scanning a quoted scalar, found unexpected end of stream"),
        ("a:\n\tb: 1\n", "f.yaml:2:1: while scanning for the next token, found character '\\t' that cannot start any "
         "token"),
    ],
)  # fmt: skip
def test_refused_with_its_place(text: str, fault: str) -> None:
    assert fault_of(text) == fault


def test_nesting_has_a_limit() -> None:
    fine = "a: " + "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1)
    assert parse_document(fine).data
    assert fault_of("a: " + "[" * 100_000) == f"f.yaml:1:{4 + MAX_DEPTH}: nested more than {MAX_DEPTH} deep"


def test_a_byte_order_mark_is_not_part_of_the_first_key() -> None:
    assert parse_document("\ufeffschema: 1\n").data == {"schema": 1}


def read(path: Path, content: bytes) -> Document:
    path.write_bytes(content)
    return read_document(path)


def test_files_that_are_not_contracts(tmp_path: Path) -> None:
    path = tmp_path / "grid.yaml"
    with pytest.raises(ContractError, match="is not a text file"):
        read(path, b"PAR1\x00\x00\x15\x04")
    with pytest.raises(ContractError, match=r"grid\.yaml:2:4: is not UTF-8 text"):
        read(path, b"a: 1\nb: \xff\xfe\n")
    with pytest.raises(ContractError, match="is empty"):
        read(path, b"")
    with pytest.raises(ContractError, match=r"has 4,194,305 bytes; a contract may have 4,194,304 at most"):
        read(path, b"#" * (MAX_BYTES + 1))
    with pytest.raises(ContractError, match="is a folder, not a file"):
        read_document(tmp_path)


def test_a_missing_file_names_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "lesson.yaml").write_text("schema: 1\n")
    with pytest.raises(ContractError, match=r"no such file \(did you mean lesson\.yaml\?\)"):
        read_document(tmp_path / "leson.yaml")
    with pytest.raises(ContractError, match="no such file"):
        read_document(tmp_path / "no" / "lesson.yaml")
    with pytest.raises(ContractError, match="cannot be read"):
        read_document("a\0b")
