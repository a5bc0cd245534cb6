"""``python -m survgauge`` is the command ``survgauge``."""

from .cli.main import main

raise SystemExit(main())
