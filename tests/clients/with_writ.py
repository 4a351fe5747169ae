#!/usr/bin/env python3
"""Runs a command with a throw-away `writ serve` beside it, whose address it finds in WRIT_URL:

    tests/clients/with_writ.py build/release/writ sh -c 'curl "$WRIT_URL/readyz"'

The service listens on a free port of this machine and keeps its private PostgreSQL in a temporary directory. Both are
gone when the command ends, also by a signal. Ends with the command's exit code, or 1 when the service failed.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import runtimes

START_SECONDS = 60
STOP_SECONDS = 30


class WritServer:
    """A running `writ serve`; use it in a `with`.

    url: its address. log: the file of its standard error.
    """

    def __init__(self, program, database=None):
        """database: the connection string of one to serve from, instead of a private one."""
        self.program = Path(program).resolve()
        self._database = database
        self._stack = contextlib.ExitStack()
        self._place = None
        self._process = None
        self._beside = 0

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self._place = Path(tempfile.mkdtemp(prefix="writ_clients_"))
            stack.callback(self._remove)
            self.log = self._place / "log"
            self._start()
            stack.callback(self._stop)
            self._await_ready()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self._stack.close()

    def beside(self):
        """Another `writ serve` that starts empty, quicker: from a new database beside this one's own."""
        self._beside += 1
        database, conninfo = f"beside_{self._beside}", self.conninfo()
        subprocess.run(["psql", "-X", "-q", "-d", conninfo, "-c", f"CREATE DATABASE {database}"], check=True)
        return WritServer(self.program, re.sub(r"dbname=\S+", f"dbname={database}", conninfo))

    def conninfo(self):
        """The connection string of the private database's owner."""
        return self._database or re.search(r"^connect: psql '(.*)'$", self._note(), re.MULTILINE)[1]

    def _note(self):
        return (self._place / "data" / "POSTGRES").read_text()

    def _start(self):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "WRIT_"))}
        where = ["--data-dir", str(self._place / "data")]
        if self._database:
            where = ["--database-url", self._database, "--read-connections", "2"]
        # Should this script be killed, the service ends too, and its PostgreSQL with it.
        command = ["setpriv", "--pdeathsig", "TERM", self.program, "serve", "--listen", "127.0.0.1:0", *where]
        with open(self.log, "wb") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                             env=environment, cwd=self._place, start_new_session=True)

    def _await_ready(self):
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            serving = re.search(r"serving (http://\S+:\d+)\n", self.log.read_text(errors="replace"))
            if serving:
                self.url = serving[1]
                with contextlib.suppress(urllib.error.URLError), \
                        urllib.request.urlopen(f"{self.url}/readyz", timeout=5) as answer:
                    if answer.status == 200:
                        return
            time.sleep(0.05)
        raise RuntimeError(f"writ does not serve: {self.log.read_text(errors='replace')}")

    def _stop(self):
        self._process.terminate()
        try:
            status = self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        if status != 0:
            raise RuntimeError(f"writ ended with {status}: {self.log.read_text(errors='replace')[-4000:]}")

    def _remove(self):
        """Also what a service that did not stop in order leaves behind: its PostgreSQL, and root's cluster."""
        cluster = None
        with contextlib.suppress(OSError, TypeError):
            cluster = Path(re.search(r"^cluster: (.*)$", self._note(), re.MULTILINE)[1])
            cluster = self._place / "data" / cluster
            end_postmaster(cluster)
        for folder in filter(None, [cluster, self._place]):
            shutil.rmtree(folder, ignore_errors=True)


def end_postmaster(cluster):
    pid = int((cluster / "cluster" / "postmaster.pid").read_text().split()[0])
    name = Path(f"/proc/{pid}/comm")
    if name.read_text().strip() != "postgres":
        return
    os.kill(pid, signal.SIGQUIT)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and name.exists():
        time.sleep(0.05)


def main():
    runtimes.end_on_signals()
    program, *command = sys.argv[1:]
    with WritServer(program) as writ:
        return subprocess.run(command, env={**os.environ, "WRIT_URL": writ.url}, check=False).returncode


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: with_writ.py PROGRAM COMMAND [ARGUMENT ...]")
    sys.exit(main())
