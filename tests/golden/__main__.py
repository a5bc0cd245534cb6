"""Say what differs from golden.json; with ``--write`` add what it does not have."""

from __future__ import annotations

import sys

from .cells import FILE, ask, differences, read, with_new, write


def main(arguments: list[str]) -> int:
    add = "--write" in arguments
    was = read() if FILE.exists() else {}
    now = ask(None if add else was)
    found = differences(was, with_new(was, now) if add else now)
    for cell, change in found.items():
        print(f"{cell}: {change}")
    if add:
        write(with_new(was, now))
        print(f"{len(found)} cells added")
        return 0
    print(f"{len(found)} cells differ, of {sum(map(len, now.values()))}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
