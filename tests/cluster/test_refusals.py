"""What the libraries of object stores raise, in plain words: one line, the answer of the store, what may be done."""

from __future__ import annotations

import errno
from pathlib import Path
from types import SimpleNamespace

import pytest

from gridplan.errors import RefusedError, StoreError
from gridplan.store import files
from gridplan.store.refusals import refusal, resumable


def raised(module: str, name: str, text: str, **more: object) -> Exception:
    """An error as a library that need not be installed raises it."""
    error = type(name, (Exception,), {"__module__": module})(text)
    vars(error).update(more)
    return error


def answered(code: str, status: int, message: str = "Well") -> Exception:
    """An error of botocore."""
    response = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return raised("botocore.exceptions", "ClientError", f"An error occurred ({code})", response=response)


def caused(error: OSError, cause: Exception) -> OSError:
    """An error of Python's own that a library made of one of its own."""
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (answered("InvalidAccessKeyId", 403), "the store does not accept these credentials (403 InvalidAccessKeyId: W"),
        (answered("RequestTimeTooSkewed", 403), "the clock of this machine differs from that of the store (403 Requ"),
        (answered("SomethingNew", 403), "access denied (403 SomethingNew: Well); check"),
        (answered("SomethingNew", 409), "409 SomethingNew: Well"),
        (answered("301", 301, "Moved Permanently"), "the bucket lies in another region (301: Moved Permanently)"),
        (
            caused(OSError(errno.EBUSY, "x"), answered("SlowDown", 503)),
            "the store asks to slow down (503 SlowDown: Well)",
        ),
        (
            raised("gcsfs.retry", "HttpError", "x, 429", code=429, message="Rate"),
            "the store asks to slow down (429: Rate)",
        ),
        (
            raised("gcsfs.retry", "HttpError", "Invalid, 401", code=401),
            "the store does not accept these credentials (401",
        ),
        (OSError("Forbidden: b/x\n  no get access"), "Forbidden: b/x no get access"),
        (
            raised("google.auth.exceptions", "DefaultCredentialsError", "None"),
            "no credentials found (None); the library",
        ),
        (
            raised("azure.core.exceptions", "HttpResponseError", "Busy", status_code=503, error_code="ServerBusy"),
            "the store asks to slow down (503 ServerBusy: Busy)",
        ),
        (
            raised("azure.core.exceptions", "ServiceRequestError", "No\nway\nthere.", status_code=None),
            "the store does not answer (No way there); check its address",
        ),
        (raised("aiohttp", "ClientConnectorError", "Cannot connect"), "the store does not answer (Cannot connect)"),
        (PermissionError("mine"), "access denied (mine); check"),
        (FileNotFoundError("b/x"), "there is no such file (b/x)"),
        (OSError(errno.EIO, "Input/output error"), "Input/output error"),
        (raised("aiohttp", "ClientPayloadError", ""), "ClientPayloadError"),
        (answered("AccessDenied", 403, "no " * 500), "access denied (403 AccessDenied: no no"),
    ],
    ids=lambda found: found[:40] if isinstance(found, str) else type(found).__name__,
)
def test_what_a_library_raises_is_said_in_one_line(error: Exception, said: str) -> None:
    found = refusal("read", "s3://b/x", error)
    text = str(found)
    assert text.startswith(f"cannot read s3://b/x: {said}"), text
    assert "\n" not in text
    assert len(text) < 500
    assert isinstance(found, RefusedError) == (not isinstance(error, FileNotFoundError))


def test_only_what_may_pass_is_to_be_resumed() -> None:
    with (
        pytest.raises(RefusedError, match=r"slow down \(503 SlowDown: Well\); .*; the same command with --resume"),
        resumable(),
    ):
        raise refusal("write", "s3://b/x", answered("SlowDown", 503))
    with pytest.raises(StoreError, match=r"no such bucket .*; give one that exists$"), resumable():
        raise refusal("write", "s3://b/x", answered("NoSuchBucket", 404))


def test_a_full_disk_of_this_machine_is_not_laid_to_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files.tempfile, "tempdir", str(tmp_path))
    place = SimpleNamespace(fs=None, name="x")
    said = f"the disk is full: files are written to {tmp_path} first"
    with pytest.raises(RefusedError, match=said), files.store_errors("write", place):
        raise OSError(errno.ENOSPC, "No space left on device")
