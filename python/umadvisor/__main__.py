"""`umadvisor` and `python -m umadvisor`: the umadvisor program itself, with this interpreter for a script after `run`."""

import os
import sys

from ._native import program, show, with_interpreter, words_of


def main() -> None:
    try:
        os.execv(program(), ["umadvisor", *with_interpreter(sys.argv[1:])])
    except Exception as error:
        show(f"umadvisor: cannot be started: {words_of(error)}", sys.stderr)
        raise SystemExit(127) from None


if __name__ == "__main__":
    main()
