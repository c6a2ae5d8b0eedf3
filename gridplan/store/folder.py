"""The folder a cube is written to: what may be replaced, what is never touched."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from gridplan.errors import StoreError
from gridplan.store.arrow import is_own
from gridplan.store.files import in_hand, make_folder, store_errors, whole_name
from gridplan.store.inside import INTENT
from gridplan.store.lock import LOCK, folder_lock
from gridplan.store.manifest import FORMAT, MANIFEST
from gridplan.store.place import is_remote, place_of
from gridplan.store.remote import claim_remote

__all__ = ["INTENT", "claimed_folder", "prepare_folder", "remove_in_hand"]

OWN_NAMES = {
    "facts": re.compile(r"part-\d{5,}\.parquet"),
    "receipts": re.compile(r"part-\d{5,}\.json"),
    "dims": re.compile(r"[A-Za-z_]\w*\.parquet"),
}
"""Names of the files that gridplan writes, by folder; a killed run leaves some in hand."""

_BESIDE = re.compile(f"{re.escape(MANIFEST)}|{re.escape(INTENT)}")
"""Names of those that stand beside these folders."""

_BEGINS = f'{{\n "format": "{FORMAT}",'.encode()


def prepare_folder(folder: str | Path, force: bool = False) -> Path:
    """Make `folder` ready for a new cube and return it.

    A folder that does not exist is made, an empty one taken. One that holds a cube, finished or not, is refused unless
    `force`, which removes what gridplan wrote (`facts/`, `dims/`, `receipts/`, `manifest.json`, the manifest first) and
    nothing else: a folder with any other file in it is refused either way.

    Raises StoreError, also for a file in the way and a folder that cannot be written.
    """
    folder = _existing(folder)
    _prepare(folder, force)
    return folder


@contextlib.contextmanager
def claimed_folder(folder: str | Path, force: bool = False, resume: bool = False) -> Iterator[Path]:
    """`folder`, held for one run: locked, then made ready as by `prepare_folder`, or left as it stands for `resume`.

    Raises StoreError when another run holds it, and as `prepare_folder` does.
    """
    if is_remote(place := place_of(folder)):
        claim_remote(place, force, resume)
        yield place
        return
    path = _existing(place)
    with folder_lock(path):
        _prepare(path, force, resume)
        yield path


def remove_in_hand(folder: Path) -> None:
    """Remove what writers that are gone were in the middle of; whole files stay. An object store has none of it.

    A worker that was killed leaves a file that nobody else will finish: the part is written under another name. Where
    it still runs and was only taken for lost, it cannot land that file any more, and the part stands already.
    """
    if not is_remote(folder):
        with store_errors("write to", folder):
            _remove_in_hand(folder)


def _existing(folder: str | Path) -> Path:
    """The folder as a path, made where it does not exist."""
    folder = Path(folder)
    with store_errors("use", folder):
        folder.exists()
    if folder.is_symlink() and not folder.exists():
        raise StoreError(f"{folder} is a link to nothing")
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{folder} is a file; give a folder to write the cube to")
    make_folder(folder)
    return folder


def _prepare(folder: Path, force: bool, resume: bool = False) -> None:
    """Refuse what is not ours; then empty the folder for a new cube, or clear what a stopped run left half-written."""
    with store_errors("read", folder):
        foreign = sorted(str(path.relative_to(folder)) for path in _foreign(folder))
        empty = not any(path.name != LOCK for path in folder.iterdir())
    if foreign:
        shown = ", ".join(foreign[:5]) + (f" and {len(foreign) - 5} more" if len(foreign) > 5 else "")
        raise StoreError(f"{folder} holds files that gridplan did not write ({shown}); give an empty or new folder")
    if not empty and not force and not resume:
        finished = (folder / MANIFEST).exists()
        what, mend = ("a cube", "") if finished else ("an unfinished run", "finish it with --resume, ")
        raise StoreError(f"{folder} already holds {what}; {mend}replace it with --force or give another folder")
    with store_errors("write to", folder):
        if resume:
            _remove_in_hand(folder)
        else:
            _remove(folder)
        _probe(folder)


def _foreign(folder: Path) -> Iterator[Path]:
    """Everything in `folder` that gridplan did not write."""
    for path in folder.iterdir():
        name = whole_name(path.name)
        if name in (LOCK, INTENT):
            if path.is_symlink() or not path.is_file():
                yield path
        elif name == MANIFEST:
            if path.is_symlink() or not path.is_file() or (path.name == MANIFEST and not _is_manifest(path)):
                yield path
        elif path.name in OWN_NAMES and path.is_dir() and not path.is_symlink():
            yield from _foreign_within(path)
        else:
            yield path


def _foreign_within(folder: Path) -> Iterator[Path]:
    """The same for one of the folders of `OWN_NAMES`, listed once however many files it has."""
    own = OWN_NAMES[folder.name]
    receipts = _plain_files(folder.parent / "receipts") if folder.name == "facts" else set()
    plain = _plain_files(folder)
    for name in os.listdir(folder):
        known = name in plain and own.fullmatch(whole_name(name)) is not None
        # Other programs write such names too, so without a receipt the file itself must say that it is ours.
        unsure = name.endswith(".parquet") and f"{name.removesuffix('.parquet')}.json" not in receipts
        if not known or (unsure and not _says_own(folder / name)):
            yield folder / name


def _plain_files(folder: Path) -> set[str]:
    """Names of the files in a folder that are no links; none where there is no folder."""
    if not folder.is_dir():
        return set()
    with os.scandir(folder) as entries:  # which knows what each is without a look at it
        return {entry.name for entry in entries if entry.is_file(follow_symlinks=False)}


def _says_own(path: Path) -> bool:
    try:
        return is_own(pq.read_metadata(path).metadata)
    except (pa.ArrowInvalid, OSError):
        return False


def _is_manifest(path: Path) -> bool:
    with path.open("rb") as file:
        # As this version begins it: of very many parts the rest is long.
        if file.read(len(_BEGINS)) == _BEGINS:
            return True
    try:
        content = json.loads(path.read_bytes())
    except ValueError:
        # A damaged manifest beside facts is ours; any other file of that name belongs to someone else.
        return (path.parent / "facts").is_dir()
    return isinstance(content, dict) and content.get("format") == FORMAT


def _remove(folder: Path) -> None:
    # The manifest goes first: without it the rest no longer claims to be a cube.
    (folder / MANIFEST).unlink(missing_ok=True)
    _remove_in_hand(folder)
    (folder / INTENT).unlink(missing_ok=True)
    for name in OWN_NAMES:
        if (folder / name).is_dir():
            for path in (folder / name).iterdir():
                path.unlink()
            (folder / name).rmdir()


def _remove_in_hand(folder: Path) -> None:
    """What a killed run was in the middle of; whole files stay."""
    for place, own in ((folder, _BESIDE), *((folder / name, own) for name, own in OWN_NAMES.items())):
        for name in _plain_files(place):
            # Other programs write names of this kind as well, also while a run goes on.
            if whole_name(name) != name and own.fullmatch(whole_name(name)):
                (place / name).unlink(missing_ok=True)


def _probe(folder: Path) -> None:
    """Fail before the computation, not after it, when nothing can be written here."""
    with in_hand(folder / MANIFEST) as probe:
        probe.touch()
        probe.unlink()
