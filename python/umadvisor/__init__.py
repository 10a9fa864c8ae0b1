"""umadvisor for Python: finds where CUDA programs lose time moving memory.

    umadvisor run python train.py        # or: python -m umadvisor run train.py

`record` and `step` mark parts of a program that is recorded, `report` reads what was found."""

from ._findings import Finding, Line, Place, Report, report
from ._native import UmadvisorError, ensure_recorded, is_recorded
from ._ranges import record, step

__all__ = ["Finding", "Line", "Place", "Report", "UmadvisorError", "ensure_recorded", "is_recorded", "record", "report", "step"]


def load_ipython_extension(shell: object) -> None:
    """`%load_ext umadvisor` brings the magic `%%umadvisor`."""
    from ._notebook import load

    load(shell)
