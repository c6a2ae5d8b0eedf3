"""Where the explorer listens: at one address of this machine, which nobody else reaches unless asked."""

from __future__ import annotations

import socket

import pytest

from gridplan.errors import ContractError, StoreError
from gridplan.explore.server import listening, reached


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_only_this_machine_reaches_it(host: str) -> None:
    with listening(host, 0) as sock:
        name, port = sock.getsockname()[:2]
        assert name in ("127.0.0.1", "::1")
        assert reached(sock, host) == f"http://{host}:{port}/"
        with socket.create_connection((name, port), timeout=10):
            pass


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "0", "0.0", "0x0", "::0", "0:0:0:0:0:0:0:0"])
def test_all_addresses_at_once_are_refused(host: str) -> None:
    with pytest.raises(ContractError) as found, listening(host, 0):
        pass
    due = f"host: {host} stands for every address of this machine: give the one it is to be reached at"
    assert str(found.value) == due


@pytest.mark.parametrize("host", ["::ffff:0.0.0.0", ""])
def test_what_stands_for_all_in_another_way_does_not_listen_at_all(host: str) -> None:
    try:
        with listening(host, 0) as sock:
            name = sock.getsockname()[0]
    except (ContractError, StoreError):
        return
    assert name in ("127.0.0.1", "::1")


def test_a_port_that_is_taken_is_said() -> None:
    with listening("127.0.0.1", 0) as sock:
        port = sock.getsockname()[1]
        with pytest.raises(StoreError, match=rf"cannot listen at 127\.0\.0\.1:{port}: .*in use.*--port 0") as found:
            listening("127.0.0.1", port)
    assert found.value.exit_code == 3


@pytest.mark.parametrize("host", ["203.0.113.7", "no-such-host.invalid", "127.0.0.1:80", "http://localhost", "a" * 300])
def test_what_is_no_address_of_this_machine_is_said(host: str) -> None:
    with pytest.raises(StoreError, match="cannot listen at"):
        listening(host, 0)


def test_an_address_of_version_six_is_in_brackets() -> None:
    try:
        sock = listening("::1", 0)
    except StoreError:
        pytest.skip("this machine has no IPv6")
    with sock:
        assert reached(sock, "::1") == f"http://[::1]:{sock.getsockname()[1]}/"
