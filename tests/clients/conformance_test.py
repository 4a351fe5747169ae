#!/usr/bin/env python3
"""The official Connect conformance runner against tests/service/conformance: all of its cases have to pass.

    conformance_test.py CONFORMANCE_SERVER CONFIG
"""

import os
import re
import subprocess
import sys

import runtimes

RUNNER = "connectrpc.com/conformance/cmd/connectconformance@v1.0.7"
# The runner makes its cases from the configuration; a wrong one would leave few, and all of them pass.
LEAST_CASES = 500


def installed_runner():
    advice = "install Go 1.26, or 1.21 or newer, which then fetches what it needs"
    go = runtimes.need("go", advice)
    # The one in use outside of any module: with GOTOOLCHAIN=auto it fetches the one that the runner wants.
    environment = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "auto", **os.environ}
    version = subprocess.run([go, "version"], check=True, capture_output=True, text=True, env=environment).stdout
    major, minor = map(int, re.search(r"go(\d+)\.(\d+)", version).groups())
    if (major, minor) < (1, 21):
        runtimes.skip(f"this is {version.strip()}, which is too old: {advice}")
    return runtimes.installed("conformance", RUNNER, lambda folder: runtimes.run_installer(
        [go, "install", RUNNER], cwd=folder, env={**environment, "GOBIN": str(folder)})) / "connectconformance"


def main():
    runtimes.end_on_signals()
    server, config = sys.argv[1:]
    runner = installed_runner()
    done = subprocess.run([runner, "--conf", config, "--mode", "server", "--", server], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, timeout=120, check=False)
    print(done.stdout, flush=True)
    total = re.search(r"^Total cases: (\d+)$", done.stdout, re.MULTILINE)
    counts = re.search(r"^(\d+) passed, (\d+) failed", done.stdout, re.MULTILINE)
    if done.returncode != 0 or not total or not counts:
        sys.exit(f"failed: the runner ended with {done.returncode}")
    cases, passed, failed = int(total[1]), int(counts[1]), int(counts[2])
    if failed or passed != cases:
        sys.exit(f"failed: {passed} of {cases} cases passed")
    if cases < LEAST_CASES:
        sys.exit(f"failed: only {cases} cases ran, at least {LEAST_CASES} were expected")


if __name__ == "__main__":
    main()
