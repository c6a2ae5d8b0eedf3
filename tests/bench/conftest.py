"""Makes the modules of this folder importable by its tests; `compare.py` finds them as a script does."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
