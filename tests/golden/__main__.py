"""Say what differs from golden.json; with ``--write`` write it anew."""

from __future__ import annotations

import sys

from .cells import FILE, ask, differences, read, without, write


def main(arguments: list[str]) -> int:
    anew = "--write" in arguments
    was = read() if FILE.exists() else {}
    now = ask(None if anew else without(was))
    found = differences(was, now)
    for cell, change in found.items():
        print(f"{cell}: {change}")
    print(f"{len(found)} cells differ, of {sum(map(len, now.values()))}")
    if anew:
        write(now)
    return int(bool(found) and not anew)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
