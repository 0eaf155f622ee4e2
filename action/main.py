"""Starts the action's steps out of the checkout that it came with: with -I nothing else is on the path.

The environment has the locked packages alone, so that every version of sweeper with the same lock shares it.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from sweeper.cli.action import main

if __name__ == "__main__":
    sys.exit(main())
