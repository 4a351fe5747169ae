#!/usr/bin/env python3
"""`buf curl` against a running Writ, with the schema that Writ itself serves.

    buf_curl_test.py WRIT
"""

import json
import os
import subprocess
import sys
import unittest
import urllib.request
from pathlib import Path

import runtimes
from with_writ import WritServer

SERVICE = "flyteidl2.settings.SettingsService"
FLOW = Path(__file__).parents[1] / "acceptance" / "flow"
PROTOCOLS = ("connect", "grpcweb")
# buf's exit codes are those of gRPC, three bits to the left.
NOT_FOUND, ALREADY_EXISTS, FAILED_PRECONDITION = 5 << 3, 6 << 3, 9 << 3


class BufCurl(unittest.TestCase):
    """What writes has a Writ of its own, which starts empty, for each protocol."""

    private = None
    buf = None

    def run_buf(self, writ, *arguments):
        schema = urllib.request.urlopen(f"{writ.url}/schema", timeout=10).read()
        # Known by its ending as a set of descriptors.
        file = writ.log.with_name("schema.binpb")
        file.write_bytes(schema)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("BUF_")}
        return subprocess.run([self.buf, "curl", "--schema", file, *arguments], capture_output=True, text=True,
                              timeout=60, check=False, env={**environment, "HOME": str(writ.log.parent)})

    def call(self, writ, protocol, method, request, *arguments):
        return self.run_buf(writ, "--protocol", protocol, "--data", json.dumps(request), *arguments,
                            f"{writ.url}/{SERVICE}/{method}")

    def test_the_schema_that_writ_serves_names_its_methods(self):
        done = self.run_buf(self.private, "--list-methods")
        methods = [line for line in done.stdout.split() if line.startswith(SERVICE)]
        self.assertEqual(methods, [f"{SERVICE}/{method}" for method in (
            "CreateSettings", "GetSettings", "GetSettingsForEdit", "UpdateSettings")], done.stderr)

    def test_the_customer_flow_holds(self):
        steps = [(file.stem, json.loads(file.read_text())) for file in sorted(FLOW.glob("*.json"))]
        self.assertEqual(len(steps), 8)
        for protocol in PROTOCOLS:
            with self.private.beside() as writ:
                for name, step in steps:
                    with self.subTest(protocol=protocol, step=name):
                        done = self.call(writ, protocol, step["method"], step["request"])
                        self.assertEqual(done.returncode, 0, done.stderr)
                        self.assertEqual(json.loads(done.stdout), step["response"])

    def test_a_failed_call_names_its_code_and_carries_its_details(self):
        key = {"org": "acme", "domain": "production"}
        for protocol in PROTOCOLS:
            with self.private.beside() as writ:
                def failure(method, request):
                    done = self.call(writ, protocol, method, request)
                    self.assertEqual(done.stdout, "")
                    return done.returncode, json.loads(done.stderr)

                with self.subTest(protocol=protocol):
                    update = {"key": key, "settings": {}, "version": 9}
                    self.assertEqual(failure("UpdateSettings", update), (
                        NOT_FOUND, {"code": "not_found", "message": "settings not found: v1::production:"}))
                    create = {"key": key, "settings": {}}
                    self.assertEqual(self.call(writ, protocol, "CreateSettings", create).returncode, 0)
                    status, error = failure("CreateSettings", create)
                    self.assertEqual((status, error["code"]), (ALREADY_EXISTS, "already_exists"))
                    status, error = failure("UpdateSettings", update)
                    self.assertEqual((status, error["code"]), (FAILED_PRECONDITION, "failed_precondition"))
                    self.assertEqual(error["message"], "settings version conflict: v1::production:")
                    self.assertEqual([detail["type"] for detail in error["details"]],
                                     ["writ.settings.v1.VersionConflict"])

    def test_what_buf_says_goes_over_http_1_1_as_protobuf(self):
        for protocol, content_type in zip(PROTOCOLS, ("application/proto", "application/grpc-web+proto")):
            with self.subTest(protocol=protocol):
                done = self.call(self.private, protocol, "GetSettings", {"key": {"org": "acme"}}, "--verbose")
                self.assertEqual(done.returncode, 0, done.stderr)
                for line in (f"> (#1) POST /{SERVICE}/GetSettings", f"> (#1) Content-Type: {content_type}",
                             "< (#1) HTTP/1.1 200 OK", f"< (#1) Content-Type: {content_type}"):
                    self.assertIn(f"buf: {line}\n", done.stderr)


def main():
    runtimes.end_on_signals()
    program = sys.argv.pop(1)
    BufCurl.buf = runtimes.installed_npm_packages() / "node_modules" / ".bin" / "buf"
    print("buf", subprocess.run([BufCurl.buf, "--version"], check=True, capture_output=True, text=True).stdout,
          flush=True)
    with WritServer(program) as writ:
        BufCurl.private = writ
        return unittest.main(verbosity=2, exit=False).result.wasSuccessful()


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
