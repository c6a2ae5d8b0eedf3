"""`python -m gridplan` is the command `gridplan`."""

from __future__ import annotations

from gridplan.cli import main

if __name__ == "__main__":
    main()
