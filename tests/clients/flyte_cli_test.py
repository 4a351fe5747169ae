#!/usr/bin/env python3
"""Flyte's own command line, unmodified, against a running Writ.

    flyte_cli_test.py WRIT
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.request
from pathlib import Path

import runtimes
from with_writ import WritServer

FLOW = Path(__file__).parents[1] / "acceptance" / "flow"
PINS = Path(__file__).with_name("requirements.txt")
INSTANCE = ()
DOMAIN = ("--domain", "production")
PROJECT = ("--domain", "production", "--project", "analytics")
SEED = {"run.default_queue": "default", "task_resource.min.cpu": "500m",
        "environment_variables": {"LOG_LEVEL": "info", "REGION": "us-east-1"}}
# Each setting that the command line offers, with a value that Writ takes.
EVERYTHING = {
    "run.default_queue": "fast",
    "run.max_action_concurrency": 4294967295,
    "run.run_base_dir": "s3://bucket/runs",
    "security.service_account": "runner",
    "storage.raw_data_path": "s3://bucket/raw",
    **{f"task_resource.{bound}.{resource}": value for bound, value in (("min", "1"), ("max", "1500m"))
       for resource in ("cpu", "gpu", "memory", "storage")},
    "task_resource.mirror_limits_request": True,
    "task_resource.default_accelerator": "nvidia-h100",
    "labels": {"team": "blue", "example.com/tier": "1"},
    "annotations": {"example.com/note": "ünïcödé: yes"},
    "environment_variables": {"LOG_LEVEL": "info", "GREETING": "good morning"},
    "app.disallow_anonymous": False,
    "app.app_dns_strategy": "dataplane_specific",
    "pod_template_name": "large",
}


class FlyteCli(unittest.TestCase):
    """Each test has a Writ of its own, which starts empty, and a home directory."""

    private = None
    venv = None

    def setUp(self):
        self.home = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="writ_flyte_")))
        self.writ = self.enterContext(self.private.beside())
        self.endpoint = f"localhost:{self.writ.url.rsplit(':', 1)[1]}"
        self.flags = ["--endpoint", self.endpoint, "--insecure", "--org", "acme"]

    def flyte(self, *arguments, **options):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("FLYTE", "UCTL", "UNION", "_U_", "EDITOR", "VISUAL"))}
        # Its crash reports would leave this machine.
        environment |= {"HOME": str(self.home), "DO_NOT_TRACK": "1", "FLYTE_DISABLE_TELEMETRY": "true",
                        "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb", **options.pop("environment", {})}
        done = subprocess.run([self.venv / "bin" / "flyte", "--no-progress", *arguments], cwd=self.home, check=False,
                              env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=120, input=options.pop("input", ""))
        # On a busy machine Python may abort while it ends with a thread of its own still running, after the command has
        # done its work; what it printed and wrote is checked as always.
        if done.returncode == -signal.SIGABRT and "Error" not in done.stdout:
            done.returncode = 0
        return done

    def get(self, *scope):
        """The version and the text that `flyte get settings` writes to a file."""
        file = self.home / "got.yaml"
        done = self.flyte(*self.flags, "get", "settings", *scope, "-o", file)
        self.assertEqual(done.returncode, 0, done.stdout)
        return int(done.stdout.split("(v")[1].split(")")[0]), file.read_text()

    def values(self, text):
        """What a file says, read in the way of the command line."""
        script = "import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin) or {}))"
        return json.loads(subprocess.run([self.venv / "bin" / "python", "-c", script], input=text, check=True,
                                         capture_output=True, text=True).stdout)

    def edit_from(self, overrides, *scope):
        file = self.home / "wanted.yaml"
        # JSON is YAML.
        file.write_text(json.dumps(overrides))
        return self.flyte(*self.flags, "edit", "settings", *scope, "--from-file", file)

    def edit(self, overrides, *scope):
        done = self.edit_from(overrides, *scope)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("Settings updated successfully", done.stdout)

    def writ_edit(self, *arguments, editor="false"):
        """`writ edit` at the domain; the editor is a command."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WRIT_")}
        environment |= {"WRIT_URL": self.writ.url, "VISUAL": editor}
        done = subprocess.run([self.writ.program, "edit", *DOMAIN, *arguments], cwd=self.home, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def check_step(self, name):
        """One read of the recorded customer flow, which is about what the command line wrote."""
        step = json.loads((FLOW / f"{name}.json").read_text())
        request = urllib.request.Request(f"{self.writ.url}/flyteidl2.settings.SettingsService/{step['method']}",
                                         json.dumps(step["request"]).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            self.assertEqual(json.load(answer), step["response"], name)

    def test_the_customer_flow_holds(self):
        for scope in (INSTANCE, DOMAIN, PROJECT):
            version, text = self.get(*scope)
            self.assertEqual((version, self.values(text)), (0, {}))
        self.edit(SEED)
        self.edit({"task_resource.min.cpu": "1000m"}, *PROJECT)
        self.check_step("10-get-instance")
        self.check_step("20-get-for-edit")
        version, text = self.get(*PROJECT)
        self.assertEqual((version, self.values(text)), (1, {"task_resource.min.cpu": "1000m"}))
        self.assertRegex(text, r"# run\.default_queue: default\s+## inherited from ORG")

        self.edit({"task_resource.min.cpu": "2000m", "environment_variables": {"LOG_LEVEL": "debug"}}, *PROJECT)
        self.check_step("30-get-project")
        self.edit({"run.default_queue": "fast-queue"}, *DOMAIN)
        self.check_step("50-get-project-again")
        version, text = self.get(*PROJECT)
        self.assertEqual((version, self.values(text)), (
            2, {"task_resource.min.cpu": "2000m", "environment_variables": {"LOG_LEVEL": "debug"}}))
        self.assertRegex(text, r"# run\.default_queue: fast-queue\s+## inherited from DOMAIN\(production\)")
        self.assertEqual(self.get(*DOMAIN)[0], 1)
        self.assertEqual(self.get()[0], 1)

    def test_every_setting_that_it_offers_comes_back(self):
        self.edit(EVERYTHING)
        version, text = self.get()
        self.assertEqual((version, self.values(text)), (1, EVERYTHING))
        # Nothing is left to offer: a setting that a newer SDK brings belongs into EVERYTHING.
        self.assertNotIn("Available settings", text)

    def test_what_it_unsets_is_no_longer_inherited(self):
        self.edit(SEED)
        self.edit({"run.default_queue": "~unset"}, *DOMAIN)
        self.assertEqual(self.values(self.get(*DOMAIN)[1]), {"run.default_queue": "~unset"})
        self.assertRegex(self.get(*PROJECT)[1], r"# run\.default_queue: ~unset\s+## inherited from DOMAIN")

    def test_settings_that_were_dumped_to_a_file_and_edited_there_are_accepted(self):
        self.edit(SEED)
        file = self.home / "dumped.yaml"
        file.write_text(self.get()[1].replace("500m", "750m"))
        done = self.flyte(*self.flags, "edit", "settings", "--from-file", file)
        self.assertEqual(done.returncode, 0, done.stdout)
        version, text = self.get()
        self.assertEqual((version, self.values(text)), (2, {**SEED, "task_resource.min.cpu": "750m"}))

    def test_a_file_that_it_wrote_says_the_same_to_the_command_line_of_writ(self):
        overrides = {**EVERYTHING, "storage.raw_data_path": "~unset", "run.run_base_dir": ""}
        self.edit(SEED)
        self.edit(overrides, *DOMAIN)
        text = self.get(*DOMAIN)[1]
        self.assertIn("## defined at ORG", text)
        self.assertEqual(self.writ_edit("--from-file", "got.yaml").stderr, "writ: nothing changed\n")
        self.edit({}, *DOMAIN)
        (self.home / "got.yaml").write_text(text)
        self.writ_edit("--from-file", "got.yaml")
        version, again = self.get(*DOMAIN)
        self.assertEqual((version, self.values(again)), (3, self.values(text)))

    def test_a_file_that_the_command_line_of_writ_wrote_says_the_same_to_it(self):
        overrides = {**EVERYTHING, "storage.raw_data_path": "~unset"}
        self.edit(SEED)
        self.edit(overrides, *DOMAIN)
        self.writ_edit(editor="cp --target-directory=.")
        written, = self.home.glob("writ-settings-*.yaml")
        self.assertEqual(self.values(written.read_text()), overrides)
        self.assertRegex(written.read_text(), r"# overridden value: default  ## defined at ORG")
        done = self.flyte(*self.flags, "edit", "settings", *DOMAIN, "--from-file", written)
        self.assertIn("No changes detected", done.stdout)

    def test_an_edit_that_lost_against_another_is_refused_and_says_so(self):
        self.edit(SEED)
        (self.home / "theirs.yaml").write_text('{"run.default_queue": "theirs"}')
        editor = self.home / "editor"
        # While the settings are open in the editor, somebody else changes them.
        editor.write_text(f"""#!/bin/sh
{self.venv}/bin/flyte {' '.join(self.flags)} edit settings --from-file theirs.yaml < /dev/null || exit 1
echo 'run.default_queue: ours' > "$1"
""")
        editor.chmod(0o700)
        done = self.flyte(*self.flags, "edit", "settings", environment={"EDITOR": str(editor)}, input="y\n")
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertIn("settings version conflict: v1:::", done.stdout)
        version, text = self.get()
        self.assertEqual((version, self.values(text)), (2, {"run.default_queue": "theirs"}))

    def test_a_bad_value_is_refused_in_the_words_of_the_server(self):
        done = self.edit_from({"run.max_action_concurrency": 1})
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertIn("invalid max_action_concurrency 1: must be 0 (unlimited) or between 2 and 4294967295",
                      done.stdout)
        version, text = self.get()
        self.assertEqual((version, self.values(text)), (0, {}))

    def test_endpoint_and_org_may_come_from_its_configuration(self):
        (self.home / "config.yaml").write_text(json.dumps(
            {"admin": {"endpoint": f"dns:///{self.endpoint}", "insecure": True}, "task": {"org": "acme"}}))
        self.flags = ["--config", "config.yaml"]
        self.edit(SEED)
        self.check_step("10-get-instance")


def installed_flyte():
    if sys.version_info < (3, 11):
        runtimes.skip("Python 3.11 or newer is needed")
    try:
        import ensurepip  # pylint: disable=import-outside-toplevel,unused-import
    except ImportError:
        runtimes.skip("Python has no ensurepip: install python3-venv")

    def install(folder):
        runtimes.run_installer([sys.executable, "-m", "venv", folder])
        runtimes.run_installer([folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-input",
                                "--disable-pip-version-check", "--retries", "5", "--requirement", PINS])

    return runtimes.installed("flyte", f"{PINS.read_text()}{sys.version}{sys.executable}", install)


def main():
    runtimes.end_on_signals()
    program = sys.argv.pop(1)
    FlyteCli.venv = installed_flyte()
    version = "import importlib.metadata as packages; print('flyte', packages.version('flyte'))"
    subprocess.run([FlyteCli.venv / "bin" / "python", "-c", version], check=True)
    with WritServer(program) as writ:
        FlyteCli.private = writ
        return unittest.main(verbosity=2, exit=False).result.wasSuccessful()


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
