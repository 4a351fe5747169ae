#!/usr/bin/env python3
"""Other people's clients of transparency logs against a running Writ: golang.org/x/mod/sumdb and filippo.io/torchwood.

    tlog_test.py WRIT
"""

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
import urllib.request
from pathlib import Path

import runtimes
from with_writ import WritServer

SOURCE = Path(__file__).parent / "tlog"
SETTINGS = "flyteidl2.settings.SettingsService"
AUDIT = "writ.audit.v1.AuditService"
FIRST, MORE = 300, 20  # one full tile and a partial one; and on


def installed_client():
    advice = "install Go 1.24, or 1.21 or newer, which then fetches what it needs"
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin") or runtimes.need("go", advice)
    environment = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "auto", **os.environ, "GOFLAGS": "-mod=readonly"}
    version = subprocess.run([go, "version"], check=True, capture_output=True, text=True, env=environment).stdout
    if tuple(map(int, re.search(r"go(\d+)\.(\d+)", version).groups())) < (1, 21):
        runtimes.skip(f"this is {version.strip()}, which is too old: {advice}")
    files = sorted(SOURCE.iterdir())

    def install(folder):
        for file in files:
            shutil.copy(file, folder)
        runtimes.run_installer([go, "build", "-o", str(folder / "client"), "."], cwd=folder, env=environment)

    return runtimes.installed("tlog", "".join(file.read_text() for file in files), install) / "client"


class Tlog(unittest.TestCase):
    client = None
    writ = None
    written = 0

    def call(self, service, method, request):
        sent = urllib.request.Request(f"{self.writ.url}/{service}/{method}", json.dumps(request).encode(),
                                      {"Content-Type": "application/json"})
        with urllib.request.urlopen(sent, timeout=30) as answer:
            return json.load(answer)

    def write(self, count):
        for _ in range(count):
            Tlog.written += 1
            self.call(SETTINGS, "CreateSettings", {"key": {"domain": f"d{self.written}"}, "settings": {}})

    def key(self):
        return self.call(AUDIT, "GetCheckpoint", {})["verifierKeys"][0]

    def read(self, *older, key=None):
        return subprocess.run([self.client, self.writ.url, key or self.key(), *older], capture_output=True, text=True,
                              timeout=120, check=False)

    def test_every_entry_and_proof_is_believed_and_the_log_has_only_grown(self):
        self.write(FIRST - self.written)
        first = self.read()
        self.assertEqual(first.returncode, 0, first.stderr)
        self.write(MORE)
        second = self.read(json.loads(first.stdout)["checkpoint"])
        self.assertEqual(second.returncode, 0, second.stderr)
        entries = json.loads(second.stdout)["entries"]
        self.assertEqual(len(entries), FIRST + MORE)
        for position in (1, 256, 257, FIRST + MORE):
            event = self.call(AUDIT, "GetEvent", {"position": position})
            self.assertEqual(entries[position - 1], event["envelope"])

    def test_another_key_is_not_believed(self):
        self.write(1)
        name, *_ = self.key().split("+")
        public = b"\x01" + os.urandom(32)
        identity = hashlib.sha256(name.encode() + b"\n" + public).hexdigest()[:8]
        done = self.read(key=f"{name}+{identity}+{base64.b64encode(public).decode()}")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no verifiable signatures", done.stderr)

    def test_what_was_changed_in_the_database_is_caught(self):
        self.write(100)
        subprocess.run(["psql", "-X", "-q", "-d", self.writ.conninfo(), "-c",
                        "ALTER TABLE writ.events DISABLE TRIGGER ALL; UPDATE writ.events SET envelope ="
                        " replace(envelope, 'anonymous', 'somebody') WHERE position = 100"], check=True)
        done = self.read()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("hash mismatch for entry 99", done.stderr)


def main():
    runtimes.end_on_signals()
    program = sys.argv.pop(1)
    Tlog.client = installed_client()
    with WritServer(program) as writ:
        Tlog.writ = writ
        return unittest.main(verbosity=2, exit=False).result.wasSuccessful()


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
