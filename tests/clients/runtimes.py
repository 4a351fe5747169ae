"""What clients need to run: other people's runtimes, and packages installed below the build directory.

A suite that cannot get what it needs is skipped with the reason: exit code 77. Where the environment has CI=true a
runtime may not be missing, and the same is a failure; a registry that is away is nobody's fault there either.
"""

import fcntl
import hashlib
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

SKIPPED = 77
# The same for every preset, so beside their directories.
ROOT = Path(__file__).parents[2] / "build" / "clients"
# All tries of an installation together; below the TIMEOUT of the ctest entries, so that there is a reason to read.
INSTALL_SECONDS = 420
TRIES = 2

# What npm, pip and go say when the network or the registry is away, as opposed to a wrong pin.
UNREACHABLE = re.compile(
    r"EAI_AGAIN|ENOTFOUND|ENETUNREACH|EHOSTUNREACH|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ERR_SOCKET_TIMEOUT|\bE40[37]\b|"
    r"\bE429\b|\bE50\d\b|no such host|dial tcp|i/o timeout|TLS handshake timeout|[Cc]onnection (?:refused|reset)|"
    r"[Nn]ame resolution|Network is unreachable|No route to host|ConnectTimeout|ReadTimeout|NewConnectionError|"
    r"\b(?:403 Forbidden|429 Too Many|50[0234] [A-Z])")


def end_on_signals():
    """Makes SIGTERM and SIGHUP an exception, so that what was started is ended."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: sys.exit(128 + received))


def skip(reason, ours=True):
    """Ends the suite as one that could not run. ours: what is missing is for this machine to have."""
    if ours and os.environ.get("CI") == "true":
        print(f"failed: with CI=true this suite has to run, but {reason}", flush=True)
        sys.exit(1)
    print(f"skipped: {reason}", flush=True)
    sys.exit(SKIPPED)


def need(program, advice):
    """Returns the path of a program, or skips."""
    found = shutil.which(program)
    if not found:
        skip(f"there is no {program}: {advice}")
    return found


def need_node():
    """Skips without npm and a Node that can run the clients; prints its version."""
    advice = "install nodejs and npm"
    need("npm", advice)
    version = subprocess.run([need("node", advice), "--version"], check=True, capture_output=True, text=True).stdout
    if int(re.match(r"v(\d+)", version)[1]) < 18:
        skip(f"Node 18 or newer is needed, this is {version.strip()}")
    print(f"node {version.strip()}", flush=True)


def run_installer(command, **options):
    """Runs one step of an installation, several times if need be; skips where the registry cannot be reached."""
    deadline = time.monotonic() + INSTALL_SECONDS
    output = ""
    for attempt in range(TRIES):
        if attempt:
            time.sleep(5 * attempt)
        left = deadline - time.monotonic()
        if left < 1:
            break
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                  text=True, errors="replace", timeout=left, check=False, **options)
        except subprocess.TimeoutExpired:
            skip(f"installing took too long: {' '.join(map(str, command))}", ours=False)
        if done.returncode == 0:
            return
        output = done.stdout
        if not UNREACHABLE.search(output):
            break
    print(output[-4000:], flush=True)
    if UNREACHABLE.search(output):
        skip(f"the registry cannot be reached: {' '.join(map(str, command))}", ours=False)
    sys.exit(f"failed: {' '.join(map(str, command))}")


def installed(name, pins, install):
    """Returns a folder that `install(folder)` filled for these pins, now or in an earlier run.

    pins: text that says exactly what belongs there; another text makes the folder anew.
    """
    ROOT.mkdir(parents=True, exist_ok=True)
    folder, stamp = ROOT / name, ROOT / f"{name}.stamp"
    wanted = hashlib.sha256(f"{pins}\n{folder}\n{platform.machine()}\n".encode()).hexdigest()
    with open(ROOT / f"{name}.lock", "w", encoding="ascii") as lock:
        # Suites that share a folder run side by side.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != wanted:
            stamp.unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            begin = time.monotonic()
            install(folder)
            stamp.write_text(wanted)
            print(f"installed {name} in {time.monotonic() - begin:.0f} s", flush=True)
    return folder


def installed_npm_packages():
    """Returns the folder whose node_modules holds what npm/package-lock.json names; skips without Node."""
    need_node()
    source = Path(__file__).parent / "npm"
    files = [source / "package.json", source / "package-lock.json"]

    def install(folder):
        for file in files:
            shutil.copy(file, folder)
        run_installer(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier",
                       "--loglevel=error", "--fetch-timeout=60000", "--fetch-retry-mintimeout=1000"], cwd=folder)

    return installed("npm", "".join(file.read_text() for file in files), install)
