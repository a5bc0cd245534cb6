"""What the numbers were measured on and with."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from peers import DISTRIBUTIONS, MODULES, in_r

#: Share of the memory that a process may use: more fails instead of taking the machine down.
MOST_MEMORY = 0.45


def most_bytes() -> int | None:
    """Bytes that a process may use; None where the machine does not say what it has."""
    info = Path("/proc/meminfo")
    if not info.exists():
        return None
    return int(MOST_MEMORY * 1024 * int(info.read_text().split("MemTotal:")[1].split()[0]))


def load() -> str:
    """Load of the machine over the last minute."""
    return f"{os.getloadavg()[0]:.1f}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _commit() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


def processor() -> str:
    """Name of the processor, "unknown" where the machine does not say."""
    cpuinfo = Path("/proc/cpuinfo")
    rows = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [row.split(":")[1].strip() for row in rows if row.startswith("model name")]
    return names[0] if names else "unknown"


def facts_of_machine() -> dict[str, str]:
    """Machine, versions of everything that takes part, and the commit of this package."""
    facts = {"commit": _commit(), "python": platform.python_version()}
    facts["machine"] = platform.machine()
    facts["processor"] = processor()
    facts["cores"] = str(os.cpu_count())
    for package in ("numpy", "scipy", "torch"):
        facts[package] = _version(package)
    for peer in MODULES:
        facts[peer] = _version(DISTRIBUTIONS.get(peer, peer))
    for name, package in (("R survival", "survival"), ("riskRegression", "riskRegression")):
        facts[name] = in_r.version(package) or "not installed"
    return facts
