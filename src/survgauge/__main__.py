"""``python -m survgauge`` is the command ``survgauge``."""

from .cli import main

raise SystemExit(main())
