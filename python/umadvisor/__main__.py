"""`umadvisor` and `python -m umadvisor`: the umadvisor program itself, with this interpreter for a script after `run`."""

import os
import sys

from ._native import program, with_interpreter


def main() -> None:
    os.execv(program(), ["umadvisor", *with_interpreter(sys.argv[1:])])


if __name__ == "__main__":
    main()
