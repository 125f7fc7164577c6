"""Runs go where `--scheduler` says, or the command says at once why they cannot."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from monmdp.results.store import read_run

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]

SOON = 15.0
SMALL = """
name = "small"
seeds = 2
steps = 300

[[experiment]]
worlds = ["loop"]
monitors = ["ask"]
agents = ["mbie-eb"]
"""


def run_at(address):
    """Run a suite at a scheduler: exit code, errors, seconds."""
    Path("small.toml").write_text(SMALL)
    begin = time.monotonic()
    words = ["run", "small.toml", "--out", "here", "--scheduler", address]
    done = subprocess.run(
        [sys.executable, "-m", "monmdp", *words],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr, time.monotonic() - begin


@contextmanager
def cluster(workers):
    """A scheduler on loopback with so many single-threaded worker processes."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None,
        host="127.0.0.1",
    ) as made:  # fmt: skip
        yield made


def test_one_worker_with_one_thread_does_the_runs():
    with cluster(1) as made:
        (worker,) = made.workers.values()
        code, err, _ = run_at(made.scheduler_address)
        assert code == 0, err
        runs = [read_run(path) for path in Path("here/runs").rglob("seed-????.parquet")]
        assert [run.provenance["process"] for run in runs] == 2 * [worker.pid]


def test_a_scheduler_without_workers_is_one_error_soon():
    with cluster(0) as made:
        address = made.scheduler_address
        code, err, seconds = run_at(address)
    assert code == 2
    assert err == (
        f"error: the scheduler at {address} has no workers; start one with: dask worker {address}\n"
    )
    assert seconds < SOON
    assert not Path("here/reports").exists()


def says_nothing(connection):
    del connection


def closes(connection):
    connection.close()


def http(connection):
    connection.recv(4096)
    connection.sendall(b"HTTP/1.0 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    connection.close()


def babbles(connection):
    connection.sendall(os.urandom(4096))


@pytest.mark.parametrize("answer", [says_nothing, closes, http, babbles, None])
def test_a_port_that_is_no_scheduler_is_one_error_soon(answer):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port, connections = server.getsockname()[1], []

        def serve():
            while True:
                try:
                    connections.append(server.accept()[0])
                    answer(connections[-1])
                except OSError:
                    return

        if answer is None:  # nobody listens
            server.close()
        threading.Thread(target=serve, daemon=True).start()
        code, err, seconds = run_at(f"tcp://127.0.0.1:{port}")
        for connection in connections:
            connection.close()
    assert code == 2, err
    told = re.sub(r"run: at work for \d+ s\n", "", err)  # on a busy machine
    assert re.fullmatch(rf"error: no scheduler at tcp://127.0.0.1:{port}: [^\n]+\n", told), err
    assert seconds < SOON
    assert not Path("here/reports").exists()
