"""Reading a cube in an S3 that denies, throttles or does not know the credentials: one line each, nothing guessed."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from faulty_store import CREDENTIALS, FaultyStore
from refused import BUCKET, SAID, own_process, the_error

import gridplan
from gridplan.errors import RefusedError, StoreError
from gridplan.store import verify_cube


@pytest.fixture(scope="module")
def cube(served: FaultyStore, four_parts: Path) -> str:
    """A finished cube to read."""
    gridplan.run(gridplan.load_grid(four_parts), f"s3://{BUCKET}/finished")
    return f"s3://{BUCKET}/finished"


READ = {
    "manifest": ("HEAD|GET", r"/manifest\.json$", "cannot read {0}/manifest.json: "),
    "list": ("GET", "list-type=2", "cannot list {0}: "),
    "part": ("GET", r"/part-00002\.parquet$", "cannot read {0}/facts/part-00002.parquet: "),
}


@pytest.mark.parametrize("where", READ)
@pytest.mark.parametrize("words", [("verify",), ("slice", "--by", "model", "--agg", "min")], ids=["verify", "slice"])
def test_what_may_not_be_read_is_said(
    store: FaultyStore, cube: str, cli: Callable[..., object], words: tuple[str, ...], where: str
) -> None:
    method, path, named = READ[where]
    for code in ("AccessDenied", "ExpiredToken"):
        store.relent()
        fault = store.refuse(code, method, path)
        said = cli(words[0], cube, *words[1:])
        assert fault.answered >= 1
        line = the_error(said.code, said.out, said.err)
        assert line.startswith(f"error: {named.format(cube)}{SAID[code]}"), line
        assert "--resume" not in line


@pytest.mark.parametrize("where", READ)
def test_a_cube_that_may_not_be_opened_is_said(store: FaultyStore, cube: str, where: str) -> None:
    method, path, named = READ[where]
    store.refuse("AccessDenied", method, path)
    with pytest.raises(RefusedError, match=f"^{re.escape(named.format(cube) + SAID['AccessDenied'])}"):
        gridplan.open_cube(cube)


def test_names_of_providers_that_may_not_be_read_are_not_guessed(
    store: FaultyStore, cube: str, cli: Callable[..., object]
) -> None:
    store.refuse("AccessDenied", "HEAD|GET", r"/dims/instance\.parquet$")
    at = "model=qwen3-14b,context_tokens=8192,rho_target=0.7,arrival_rate=10"
    said = cli("choose", cube, "--where", "provider = aws", "--at", at)
    assert the_error(said.code, said.out, said.err).startswith(
        f"error: cannot read {cube}/dims/instance.parquet: access denied (403"
    )


def test_answers_without_a_body_are_understood(store: FaultyStore, cube: str) -> None:
    """S3 gives no code to HEAD: 400 may be a token that has expired, or not."""
    for code, said in {
        "AccessDenied": r"access denied \(403: Forbidden\)",
        "SlowDown": r"the store asks to slow down \(503: ",
        "ExpiredToken": r"takes the request for a wrong one \(400: Bad Request\); .* expired",
    }.items():
        store.relent()
        store.refuse(code, "HEAD", r"/part-00000\.parquet$")
        with pytest.raises(RefusedError, match=said):
            gridplan.open_cube(cube)


def test_a_reader_asks_again_as_well(store: FaultyStore, cube: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridplan.store.manifest._known", {})  # it is not read again while its content is the same
    moments = [store.refuse("SlowDown", "GET", path, times=1) for _, path, _ in READ.values()]
    verify_cube(cube)
    assert [fault.answered for fault in moments] == [1] * len(READ)


def test_a_bucket_that_is_not_there_is_no_cube_without_a_manifest(store: FaultyStore) -> None:
    with pytest.raises(StoreError, match=r"cannot read s3://none-here/x/manifest\.json: there is no such bucket"):
        gridplan.open_cube("s3://none-here/x")


def test_without_credentials(store: FaultyStore, cube: str, tmp_path: Path) -> None:
    store.relent()
    empty = {name: "" for name in CREDENTIALS if name != "AWS_REGION"}
    said = own_process("verify", cube, HOME=str(tmp_path), AWS_EC2_METADATA_DISABLED="true", **empty)
    line = the_error(said.returncode, said.stdout, said.stderr)
    assert line.startswith(f"error: cannot read {cube}/manifest.json: no credentials found (Unable to locate")
    assert store.heard == []
