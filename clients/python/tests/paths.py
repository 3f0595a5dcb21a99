"""Where the modules under test are, and those that tests share: import this first."""
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
for folder in (HERE.parent, HERE, ROOT / "tests" / "e2e"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
