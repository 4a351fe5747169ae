#!/usr/bin/env python3
"""tools/check_includes.py finds each kind of fault, and nothing in a tree that has none."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).parents[2] / "tools" / "check_includes.py"

FINE = {
    "schema/a.h": "#pragma once\n#include <string>\n",
    "events/b.cc": '#include "schema/a.h"\n#include <pqxx/pqxx>\n#include "migrations/m.h"\n',
    "migrations/m.h": "#pragma once\n",
    "service/c.cc": '#include "projections/p.h"  // not pqxx::work\n#include <httplib.h>\nauto t = "pqxx::";\n',
    "projections/p.h": "#pragma once\nstruct P;\n",
    "projections/p.cc": '#include "projections/p.h"\n#include <string>\n',
    "tools/main.cc": '#include "service/c.h"\n',
    "tests/events/t.cc": '#include "tests/support/x.h"\n#include <pqxx/pqxx>\n',
}
# What is added to the tree above, and the one line that has to come out.
FAULTS = {
    "upwards": ("schema/x.cc", '#include "events/b.h"\n', "schema/x.cc:1: schema/ must not include events/"),
    "sideways up": ("events/x.cc", "\n#include \"projections/p.h\"\n",
                    "events/x.cc:2: events/ must not include projections/"),
    "tests": ("events/x.cc", '#include "tests/support/x.h"\n', "events/x.cc:1: events/ must not include tests"),
    "relative": ("events/x.cc", '#include "../schema/a.h"\n',
                 'events/x.cc:1: include "../schema/a.h" by its path from the root'),
    "brackets": ("events/x.cc", "#include <schema/a.h>\n", 'events/x.cc:1: include "schema/a.h" with quotes'),
    "libpqxx": ("service/x.cc", "#include <pqxx/pqxx>\n", "service/x.cc:1: pqxx has no place here"),
    "libpqxx by name": ("service/x.cc", "int f(pqxx::work&);\n", "service/x.cc:1: pqxx has no place here"),
    "httplib": ("events/x.cc", "#include <httplib.h>\n", "events/x.cc:1: httplib has no place here"),
    "own header late": ("schema/a.cc", '#include <string>\n#include "schema/a.h"\n',
                        'schema/a.cc:1: include "schema/a.h" before everything else'),
    "no pragma": ("events/x.h", "struct X;\n", "events/x.h:1: a header needs #pragma once"),
}


def check(files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            file = pathlib.Path(root, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, CHECK, root], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines(), done.stderr


class CheckIncludes(unittest.TestCase):
    def test_accepts_a_tree_without_faults(self):
        self.assertEqual(check(FINE), (0, [], ""))

    def test_finds_each_kind_of_fault(self):
        for name, (path, text, expected) in FAULTS.items():
            with self.subTest(name):
                code, lines, errors = check({**FINE, path: text})
                self.assertEqual((code, len(lines), errors), (1, 1, ""), lines)
                self.assertTrue(lines[0].startswith(expected), lines[0])

    def test_does_not_call_an_empty_tree_fine(self):
        self.assertEqual(check({})[0], 1)


if __name__ == "__main__":
    unittest.main()
