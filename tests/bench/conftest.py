"""Makes the modules of this folder importable by its tests; `compare.py` finds them as a script does."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

# They import planners that only the environment of `compare_memory.py` has.
collect_ignore = ["adapter_aiconfigurator.py", "adapter_kvfit.py"]
