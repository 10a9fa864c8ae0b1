"""Cases and their verdicts: one failing case is a row in the table, never the end of the suite."""

import sys
import traceback

OK, FAIL, NOT_RUN = "ok", "FAIL", "not run"


class Failure(Exception):
    """A case that came out wrong; the text goes into the table. `more` is for whoever looks for the reason."""

    def __init__(self, text, more=""):
        super().__init__(text)
        self.more = more


class Cases:
    """Collects one row a case: (part, name, verdict, detail)."""

    def __init__(self):
        self.rows = []

    def check(self, part, name, body):
        """Runs `body`; what it returns is the detail of the row. Returns None where it failed."""
        try:
            detail = body()
        except Failure as failure:
            return self.add(part, name, FAIL, str(failure))
        except Exception as error:  # a fault of the suite itself is a failed case too
            traceback.print_exc(file=sys.stderr)
            return self.add(part, name, FAIL, f"{type(error).__name__}: {error}")
        self.add(part, name, OK, detail if isinstance(detail, str) else "")
        return detail

    def not_run(self, part, name, why):
        """Counted neither as ok nor as failed, and said."""
        self.add(part, name, NOT_RUN, why)

    def add(self, part, name, verdict, detail):
        self.rows.append((part, name, verdict, detail))
        print(f"{verdict:7} {part}: {name}  {detail}", file=sys.stderr, flush=True)

    def count(self, part, verdict):
        return sum(1 for row in self.rows if row[0] == part and row[2] == verdict)

    @property
    def failed(self):
        return any(row[2] == FAIL for row in self.rows)

    def table(self, part=None):
        """Of one part, or of all."""
        rows = [row for row in self.rows if part in (None, row[0])]
        widths = [max([len(row[i]) for row in rows] + [4]) for i in range(3)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)) + "  " + row[3] for row in rows]
        counts = {verdict: sum(1 for row in rows if row[2] == verdict) for verdict in (OK, FAIL, NOT_RUN)}
        return "\n".join([*lines, "", ", ".join(f"{number} {verdict}" for verdict, number in counts.items()), ""])


def require(condition, text, more=""):
    if not condition:
        raise Failure(text, more)
