#!/usr/bin/env python3
"""Checks what `merkle_proofs` prints, from RFC 9162, section 2.1, alone.

    merkle_verifier.py PROGRAM

Roots come from the definition of the Merkle tree hash (2.1.1), proofs are checked by the algorithms for verifiers
(2.1.3.2, 2.1.4.2). Each proof is also checked to fail once a bit of it is turned, a hash dropped or one added.
"""

import functools
import hashlib
import subprocess
import sys

LARGEST = 300


def sha256(data):
    return hashlib.sha256(data).digest()


def leaf(index):
    return sha256(b"\x00" + str(index).encode())


def node(left, right):
    return sha256(b"\x01" + left + right)


@functools.lru_cache(maxsize=None)
def tree_hash(begin, end):
    """MTH of the leaves from begin up to, not including, end."""
    count = end - begin
    if count == 0:
        return sha256(b"")
    if count == 1:
        return leaf(begin)
    power = 1 << (count - 1).bit_length() - 1
    return node(tree_hash(begin, begin + power), tree_hash(begin + power, end))


def verify_inclusion(leaf_hash, index, size, path, root):
    if index >= size:
        return False
    fn, sn, result = index, size - 1, leaf_hash
    for other in path:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            result = node(other, result)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            result = node(result, other)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and result == root


def verify_consistency(first, second, first_hash, second_hash, path):
    if first == second:
        return not path and first_hash == second_hash
    if first == 0:  # the RFC leaves it out: anything begins with nothing
        return not path and first_hash == sha256(b"")
    if not path:
        return False
    path = list(path)
    if first & (first - 1) == 0:
        path.insert(0, first_hash)
    fn, sn = first - 1, second - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    fr = sr = path[0]
    for other in path[1:]:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            fr, sr = node(other, fr), node(other, sr)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            sr = node(sr, other)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and fr == first_hash and sr == second_hash


def damaged(path):
    """The path with a bit turned, its last hash dropped, one added: none of which may be believed."""
    turned = [bytes([path[0][0] ^ 1]) + path[0][1:]] + path[1:] if path else None
    return [other for other in (turned, path[:-1] if path else None, path + [bytes(32)]) if other is not None]


class Checks:
    def __init__(self):
        self.seen = {"root": set(), "inclusion": set(), "consistency": set()}

    def root(self, size, root):
        assert root == tree_hash(0, size), f"the root of {size} leaves"
        self.seen["root"].add(size)

    def inclusion(self, index, size, path):
        def good(one):
            return verify_inclusion(leaf(index), index, size, one, tree_hash(0, size))
        self.judge("inclusion", index, size, path, good)

    def consistency(self, first, second, path):
        def good(one):
            return verify_consistency(first, second, tree_hash(0, first), tree_hash(0, second), one)
        self.judge("consistency", first, second, path, good)

    def judge(self, what, first, second, path, good):
        assert good(path), f"the {what} proof of {first} in {second} does not hold"
        for other in damaged(path):
            assert not good(other), f"a damaged {what} proof of {first} in {second} holds"
        self.seen[what].add((first, second))


def main():
    checks = Checks()
    lines = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout.splitlines()
    for line in lines:
        what, *fields = line.split()
        if what == "root":
            checks.root(int(fields[0]), bytes.fromhex(fields[1]))
            continue
        check = {"inclusion": checks.inclusion, "consistency": checks.consistency}[what]
        check(int(fields[0]), int(fields[1]), [bytes.fromhex(text) for text in fields[2:]])
    sizes = range(LARGEST + 1)
    assert checks.seen["root"] == set(sizes), "a root is missing"
    assert checks.seen["inclusion"] == {(index, size) for size in sizes for index in range(size)}, "a proof is missing"
    assert checks.seen["consistency"] == {(old, size) for size in sizes for old in range(size + 1)}, \
        "a proof is missing"
    print(f"{len(lines)} lines hold, up to {LARGEST} leaves")


if __name__ == "__main__":
    main()
