"""What the tests of the explorer share: the modules beside them."""

from __future__ import annotations

import sys
from pathlib import Path

# `--import-mode=importlib` puts no test folder on sys.path.
sys.path.append(str(Path(__file__).parent))
