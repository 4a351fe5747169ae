#!/usr/bin/env python3
"""Checks which way includes go: tools/check_includes.py [ROOT]

Each folder may include itself and those before it; database and HTTP libraries stay where they belong; project headers
are included by their path from the root; a source includes its own header first. Prints one line a fault,
`file:line: what is wrong`; exit code 1 if there is any.
"""

import pathlib
import re
import sys

# `migrations` holds SQL as text and includes nothing of ours.
LAYERS = ["schema", "migrations", "events", "projections", "service", "tools"]
# What may be seen only in some folders: includes and names of the library.
CONFINED = [
    (re.compile(r'#include\s*[<"](pqxx|libpq-fe)|\bpqxx::'), "pqxx",
     ("events/", "projections/", "tests/events/", "tests/projections/", "tests/support/")),
    (re.compile(r'#include\s*[<"]httplib|\bhttplib::'), "httplib", ("service/", "tools/", "tests/")),
]
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
NOT_CODE = re.compile(r'//.*|"(?:[^"\\]|\\.)*"')


def faults_of_line(path, line, layer):
    include = INCLUDE.match(line)
    if include:
        bracket, target = include.groups()
        folder = target.split("/")[0]
        ours = folder in LAYERS or folder == "tests"
        if target.startswith("."):
            yield f'include "{target}" by its path from the root'
        elif ours and bracket == "<":
            yield f'include "{target}" with quotes'
        elif folder == "tests" and layer is not None:
            yield f"{LAYERS[layer]}/ must not include tests"
        elif ours and layer is not None and folder != "tests" and LAYERS.index(folder) > layer:
            yield f"{LAYERS[layer]}/ must not include {folder}/"
    code = include.group() if include else NOT_CODE.sub("", line)
    for pattern, name, folders in CONFINED:
        if pattern.search(code) and not path.startswith(folders):
            yield f"{name} has no place here, only in {', '.join(folders)}"


def faults_of_file(root, file):
    path = file.relative_to(root).as_posix()
    folder = path.split("/")[0]
    layer = LAYERS.index(folder) if folder in LAYERS else None
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".h" and not re.search(r"^#pragma once$", text, re.MULTILINE):
        yield f"{path}:1: a header needs #pragma once"
    own = path.removesuffix("cc") + "h"
    if layer is not None and file.suffix == ".cc" and (root / own).exists():
        # So that every build shows that the header brings what it needs.
        first = next((line for line in text.splitlines() if INCLUDE.match(line)), "")
        if first != f'#include "{own}"':
            yield f"{path}:1: include \"{own}\" before everything else"
    for number, line in enumerate(text.splitlines(), 1):
        for fault in faults_of_line(path, line, layer):
            yield f"{path}:{number}: {fault}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    files = [file for folder in LAYERS + ["tests"] for file in sorted((root / folder).rglob("*"))
             if file.suffix in (".h", ".cc")]
    faults = [fault for file in files for fault in faults_of_file(root, file)]
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())
