"""Why an object store refused, in plain words: each library raises errors of its own, and few of them say what to do.

What a store answered is found in what the library raised or in its causes: a code and a status of HTTP. Codes are those
of S3; other stores and answers without a code (S3 gives none to HEAD) are understood by their status.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from traceback import walk_tb

from gridplan.errors import RefusedError, StoreError

__all__ = ["is_of_a_store", "no_bucket", "refusal", "resumable"]

_LIBRARIES = ("botocore", "aiobotocore", "aiohttp", "s3fs", "gcsfs", "google", "adlfs", "azure")
"""Libraries whose errors say why an object store refused."""

_MOST_TEXT = 300
"""Letters of what a store says that are passed on (policy)."""

_DENIED = "access denied", "check which credentials the library of the store finds and what they may do there"
_UNKNOWN = "the store does not accept these credentials", "check which ones its library finds"
_EXPIRED = "the credentials have expired", "renew them"
_NONE = (
    "no credentials found",
    "the library of the store looks in the environment, profiles and the role of the machine",
)
_SLOWER = "the store asks to slow down", "it was asked again in vain; try later"
_FAILED = "the store itself failed", "try later"
_BUCKET = "there is no such bucket", "give one that exists"
_REGION = "the bucket lies in another region", "name it to the library of the store"
_CLOCK = "the clock of this machine differs from that of the store", "set it"
_VAGUE = "the store takes the request for a wrong one", "credentials that have expired may be the cause"
_SILENT = "the store does not answer", "check its address, and whether it runs"
_GONE = "there is no such file", ""
_EMPTY = "the file is empty", "run it again with --force"

_BY_CODE = {
    **dict.fromkeys(("AccessDenied", "AllAccessDisabled", "AccountProblem", "InvalidObjectState"), _DENIED),
    **dict.fromkeys(("InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "InvalidSecurity"), _UNKNOWN),
    **dict.fromkeys(("ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired"), _EXPIRED),
    **dict.fromkeys(("SlowDown", "ServiceUnavailable", "Throttling", "ThrottlingException", "ServerBusy"), _SLOWER),
    **dict.fromkeys(("TooManyRequests", "RequestLimitExceeded", "RequestThrottled"), _SLOWER),
    **dict.fromkeys(("PermanentRedirect", "AuthorizationHeaderMalformed"), _REGION),
    "IllegalLocationConstraintException": _REGION,
    "InternalError": _FAILED,
    "NoSuchBucket": _BUCKET,
    "NoSuchKey": _GONE,
    "InvalidRange": _EMPTY,
    "RequestTimeTooSkewed": _CLOCK,
}
"""What the codes of S3 mean, and what may be done (fact, S3 API reference, "Error responses")."""

_BY_STATUS = {
    301: _REGION,
    400: _VAGUE,
    401: _UNKNOWN,
    403: _DENIED,
    404: _GONE,
    429: _SLOWER,
    500: _FAILED,
    502: _FAILED,
    503: _SLOWER,
    504: _FAILED,
}
"""The same for a status of HTTP without a code that is known (fact, RFC 9110 and RFC 6585)."""

_BY_NAME = {
    **dict.fromkeys(("NoCredentialsError", "DefaultCredentialsError"), _NONE),
    **dict.fromkeys(("EndpointConnectionError", "ConnectTimeoutError", "ProxyConnectionError"), _SILENT),
    **dict.fromkeys(("ClientConnectorError", "ClientConnectorDNSError", "ServiceRequestError"), _SILENT),
}
"""Errors that come before any answer, by the name of their class."""


@dataclass(frozen=True)
class _Answer:
    """What a store answered: status and code where it gave them, and its own words."""

    status: int | None
    code: str
    said: str

    @property
    def text(self) -> str:
        """Status, code and words, each once: `503 SlowDown: Please reduce your request rate`."""
        head = " ".join(dict.fromkeys(part for part in (str(self.status or ""), self.code) if part))
        return ": ".join(part for part in (head, self.said) if part)


def refusal(action: str, name: object, error: BaseException) -> StoreError:
    """What to raise where the library of a store raised `error` when it was asked to `action` (`write`) `name`.

    One line, which names the file, and says what to do where that is known. A RefusedError, unless nothing that is done
    elsewhere would change the answer.
    """
    answer = _answer(error)
    what, mend = _meaning(error, answer)
    told = f"{what} ({answer.text})" if what and answer.text else what or answer.text
    kind = StoreError if what in (_BUCKET[0], _GONE[0], _EMPTY[0]) else RefusedError
    return kind("; ".join(part for part in (f"cannot {action} {name}: {told}", mend) if part))


def _meaning(error: BaseException, answer: _Answer) -> tuple[str, str]:
    """What is wrong and what may be done; two empty texts where only the store's own words say it."""
    found = _BY_CODE.get(answer.code) or _BY_NAME.get(type(error).__name__) or _BY_STATUS.get(answer.status or 0)
    if found is None and isinstance(error, PermissionError):
        return _DENIED
    if found is None and isinstance(error, FileNotFoundError):
        return _GONE
    return found or ("", "")


def _answer(error: BaseException) -> _Answer:
    """What the store answered, wherever in the causes of an error it is told; else what the error says."""
    cause: BaseException | None = error
    while cause is not None:
        response = getattr(cause, "response", None)
        if isinstance(response, Mapping) and isinstance(response.get("Error"), Mapping):  # botocore
            told, status = response["Error"], response.get("ResponseMetadata", {}).get("HTTPStatusCode")
            return _Answer(status, str(told.get("Code", "")), _line(told.get("Message", "")))
        for name in ("status_code", "status", "code"):  # azure-core, aiohttp, gcsfs and google-api-core
            status = getattr(cause, name, None)
            if isinstance(status, int) and is_of_a_store(cause):
                return _Answer(int(status), str(getattr(cause, "error_code", None) or ""), _line(_words(cause)))
        cause = cause.__cause__
    said = error.strerror if isinstance(error, OSError) else None
    return _Answer(None, "", _line(said or str(error) or type(error).__name__))


def _words(error: BaseException) -> str:
    message = getattr(error, "message", None)
    return message if isinstance(message, str) and message else str(error)


def _line(text: object) -> str:
    """A text on one line, without the stop at its end."""
    line = " ".join(str(text).split()).rstrip(".")
    return line if len(line) <= _MOST_TEXT else f"{line[:_MOST_TEXT]}..."


def is_of_a_store(error: BaseException) -> bool:
    """Whether an error is one of a library that speaks with object stores, or was raised in one.

    botocore says of an address that is none that it is a ValueError.
    """
    places = [type(error).__module__]
    places += [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    return any(place.partition(".")[0] in _LIBRARIES for place in (places[0], places[-1]))


def no_bucket(error: BaseException) -> bool:
    """Whether what is missing is not the file alone."""
    return _answer(error).code == "NoSuchBucket"


@contextlib.contextmanager
def resumable() -> Iterator[None]:
    """Where a store refuses inside the block, say that the run can be finished later: what was written stands."""
    try:
        yield
    except RefusedError as error:
        raise RefusedError(f"{error}; the same command with --resume finishes this run") from error.__cause__
