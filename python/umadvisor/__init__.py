"""umadvisor for Python: finds where CUDA programs lose time moving memory.

    umadvisor run python train.py        # or: python -m umadvisor run train.py

`record` and `step` mark parts of a program that is recorded, `report` reads what was found."""

from ._findings import Finding, Line, Place, Report, report
from ._native import UmadvisorError, ensure_recorded, is_recorded, warn, words_of
from ._ranges import record, step

__all__ = ["Finding", "Line", "Place", "Report", "UmadvisorError", "ensure_recorded", "is_recorded", "record", "report", "step"]


def load_ipython_extension(shell: object) -> None:
    """`%load_ext umadvisor` brings the magic `%%umadvisor`."""
    try:
        try:
            from ._notebook import umadvisor

            shell.register_magic_function(umadvisor, "cell", "umadvisor")  # type: ignore[attr-defined]
        except Exception as error:
            warn(f"there is no %%umadvisor here: {words_of(error)}", stacklevel=2)
    except Exception:  # there is no room on the stack to say it
        pass
