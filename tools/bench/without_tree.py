#!/usr/bin/env python3
"""Writes sources of events/ anew without what the Merkle tree costs an append: tools/bench/without_tree.py TO

The tree stands still at its first size: nothing is hashed into it, `root` and `frontier` are not written, no tile is
stored. All else is as in the program, so that tools/bench/tree can hold the two against each other. Fails when a
piece to change is not there exactly once, which is when the sources have changed: change the pieces below with them.
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

CHANGES = {
    "append.cc": [
        ("$16::timestamptz, root = $17::bytea, frontier = $18::bytea", "$16::timestamptz"),
        ("unnest($19::text[], $20::text[], $21::uuid[], $22::bytea[], $23::bigint[], $24::bigint[])",
         "unnest($17::text[], $18::text[], $19::uuid[], $20::bytea[], $21::bigint[], $22::bigint[])"),
        ("(bigint, timestamptz, text[], bytea, bytea)", "(bigint, timestamptz, text[])"),
        (", root = $4, frontier = $5;", ";"),
        ("  args.push_back(bytea(bytes_of(what.tree.root())));\n  args.push_back(bytea(what.tree.bytes()));\n", ""),
        ("names_of_projections(domains),\n                  bytea(bytes_of(what.tree.root())), bytea(what.tree.bytes())});",
         "names_of_projections(domains)});"),
        ("  const std::string fill = move_tree(what);\n", "  const std::string fill;\n"),
        ("  std::string fill = move_tree(what);\n", "  std::string fill;\n"),
    ],
    "batch.cc": [
        ("  tree_ = frontier_at(head_.position, from_hex(frontier));\n", ""),
    ],
}


def main():
    target = pathlib.Path(sys.argv[1])
    for name, pieces in CHANGES.items():
        text = (ROOT / "events" / name).read_text()
        for old, new in pieces:
            if text.count(old) != 1:
                sys.exit(f"without_tree.py: events/{name} must have this once:\n{old}")
            text = text.replace(old, new)
        (target / name).write_text(text)


if __name__ == "__main__":
    main()
