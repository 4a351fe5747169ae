#!/usr/bin/env python3
"""Runs clang-tidy: tools/clang_tidy.py [--all]

On the sources that differ from the last commit and without the static analyzer, which takes as long as everything else
together; with --all on every source and with the analyzer. A source that was fine is not looked at again until it, a
header of the project that it includes, or .clang-tidy changes. Needs a configured and built build/release.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"
WORK = ROOT / "build" / "tidy"
# More than these at once are a rebase or a first commit: nobody waits for that in every test run.
LIMIT = 25


def lines_of(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()


def changed_files():
    return set(lines_of("git", "diff", "--name-only", "--diff-filter=d", "HEAD") +
               lines_of("git", "ls-files", "--others", "--exclude-standard"))


def compile_commands():
    """By source path. Without precompiled headers: those are GCC's, and Clang cannot read them."""
    commands = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8")):
        entry["command"] = re.sub(r"-Winvalid-pch|-include \S*cmake_pch\.hxx", "", entry["command"])
        path = pathlib.Path(entry["file"])
        if path.is_relative_to(ROOT) and not path.is_relative_to(ROOT / "build"):
            commands[path.relative_to(ROOT).as_posix()] = entry
    return commands


def dependencies():
    """The project's own files that went into each object, by the object's path below the build directory."""
    found = {}
    current = []
    for line in lines_of("ninja", "-C", str(BUILD), "-t", "deps"):
        if line.startswith("    "):
            path = pathlib.Path(os.path.normpath(BUILD / line.strip()))
            if path.is_relative_to(ROOT):
                current.append(path)
        elif ": #deps" in line:
            current = found.setdefault(line.split(":")[0], [])
    return found


def object_of(entry):
    return re.search(r" -o (\S+)", entry["command"]).group(1)


def fingerprint(entry, depends_on, options):
    digest = hashlib.sha256()
    for text in [entry["command"], *options]:
        digest.update(text.encode() + b"\0")
    for path in sorted({*depends_on, pathlib.Path(entry["file"]), *ROOT.glob(".clang-tidy"), *ROOT.glob("*/.clang-tidy")}):
        digest.update(path.read_bytes() if path.exists() else b"")
    return digest.hexdigest()


def look_at(entry, stamp, options):
    done = subprocess.run(["clang-tidy-14", "--quiet", "-p", WORK, "--warnings-as-errors=*", *options, entry["file"]],
                          capture_output=True, text=True, check=False)
    if done.returncode == 0:
        stamp.touch()
        return ""
    return done.stdout or done.stderr


def main():
    everything = "--all" in sys.argv[1:]
    options = [] if everything else ["--checks=-clang-analyzer-*"]
    commands = compile_commands()
    if not everything:
        try:
            changed = changed_files()
        except subprocess.CalledProcessError:
            print("clang-tidy: skipped, without git there is no telling what changed; see tools/check --all")
            return 0
        commands = {path: entry for path, entry in commands.items() if path in changed}
    stamps = WORK / "fine"
    stamps.mkdir(parents=True, exist_ok=True)
    (WORK / "compile_commands.json").write_text(json.dumps(list(commands.values())), encoding="utf-8")
    depends_on = dependencies()
    todo = []
    for entry in commands.values():
        stamp = stamps / fingerprint(entry, depends_on.get(object_of(entry), []), options)
        if not stamp.exists():
            todo.append((entry, stamp, options))
    if not everything and len(todo) > LIMIT:
        print(f"clang-tidy: skipped, {len(todo)} files differ from the last commit; see tools/check --all")
        return 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        faults = [fault for fault in pool.map(lambda job: look_at(*job), todo) if fault]
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
