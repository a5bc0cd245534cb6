"""Draw docs/images/metrics/*.svg: `python docs/scripts/metric_pictures.py [names] [--png]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from pictures import PICTURES, save

HOME = Path(__file__).parents[1] / "images" / "metrics"


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw the pictures of the metric pages.")
    parser.add_argument("names", nargs="*", help="which pictures; none: all")
    parser.add_argument("--out", type=Path, default=HOME)
    parser.add_argument("--png", action="store_true", help="PNG instead of SVG, to look at")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.names or PICTURES:
        save(PICTURES[name](), options.out / f"{name}.{'png' if options.png else 'svg'}")


if __name__ == "__main__":
    main()
