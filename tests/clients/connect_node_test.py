#!/usr/bin/env python3
"""The npm packages connect-node and connect-web, with code generated from schema/proto, against a running Writ.

    connect_node_test.py WRIT PROTOC
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import runtimes
from with_writ import WritServer

HERE = Path(__file__).parent
PROTO = HERE.parents[1] / "schema" / "proto"
FLOW = HERE.parent / "acceptance" / "flow"
RUN_SECONDS = 150


def generate(protoc, packages, proto, out):
    out.mkdir()
    subprocess.run([protoc, f"--plugin=protoc-gen-es={packages}/node_modules/.bin/protoc-gen-es", f"--es_out={out}",
                    "--es_opt=target=js,import_extension=js", "-I", proto,
                    *(file.relative_to(proto) for file in sorted(proto.rglob("*.proto")))], check=True)


def newer_proto(folder):
    """The .proto files of a client that knows a setting and a method that this server does not."""
    shutil.copytree(PROTO, folder)
    for name, words, more in (
            ("definition", "message RunSettings {", "  StringSetting next = 999;"),
            ("service", "service SettingsService {",
             "  rpc DeleteSettings(GetSettingsRequest) returns (GetSettingsResponse);")):
        file = folder / "flyteidl2" / "settings" / f"settings_{name}.proto"
        text = file.read_text()
        if text.count(words) != 1:
            raise RuntimeError(f"{file} has no {words}")
        file.write_text(text.replace(words, f"{words}\n{more}"))
    return folder


def count_transports(run):
    script = "import {transports} from './transports.mjs'; console.log(transports.length)"
    return int(subprocess.run(["node", "--input-type=module", "-e", script], cwd=run, check=True, capture_output=True,
                              text=True).stdout)


def main():
    runtimes.end_on_signals()
    program, protoc = sys.argv[1:]
    packages = runtimes.installed_npm_packages()
    with contextlib.ExitStack() as stack:
        # Inside of the packages' folder, where Node finds them.
        run = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="run_", dir=packages)))
        for file in (HERE / "connect_node").glob("*.mjs"):
            shutil.copy(file, run)
        (run / "package.json").write_text('{"type": "module"}')
        generate(protoc, packages, PROTO, run / "generated")
        generate(protoc, packages, newer_proto(run / "newer_proto"), run / "newer")

        writ = stack.enter_context(WritServer(program))
        servers = []
        for _ in range(count_transports(run)):
            server = stack.enter_context(writ.beside())
            servers.append({"url": server.url, "database": server.conninfo()})
        environment = {**os.environ, "WRIT_SERVERS": json.dumps(servers), "WRIT_FLOW": str(FLOW)}
        return subprocess.run(["node", "--test", "--test-reporter=spec", "settings_test.mjs"], cwd=run, check=False,
                              env=environment, stdin=subprocess.DEVNULL, timeout=RUN_SECONDS).returncode


if __name__ == "__main__":
    sys.exit(main())
