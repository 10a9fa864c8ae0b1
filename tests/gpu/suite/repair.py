"""What --act brings a program, against what an expert's change of its source brings: each program runs bare, recorded, under
--act MODE and as the expert changed it ("fixed" as its last argument), in turn. A program prints `elapsed ms: N` or
`elapsed ms N`."""

import json
import re
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .cases import require
from .process import run
from .results import figure

FORMS = ("bare", "recorded", "act", "hand")
ELAPSED = re.compile(r"elapsed ms:?\s*([0-9.]+)")
TIMED = re.compile(r".*(elapsed ms|median us|ready after|issuing).*\n")
TIME_LIMIT = 120  # seconds, of one run


@dataclass(frozen=True)
class Repair:
    """A program with a fault, and the mode that repairs it."""

    name: str
    command: tuple
    mode: str

    def run(self, form, bundle, environment, trace):
        before, after = (), ()
        if form in ("recorded", "act"):
            act = ("--act", self.mode) if form == "act" else ()
            before = (bundle.umadvisor, "run", "-q", "--no-calibrate", "-f", "-o", trace, *act, "--")
        elif form == "hand":
            after = ("fixed",)
        outcome = run([*before, *self.command, *after], environment, TIME_LIMIT)
        require(outcome.status == 0, f"{self.name} {form}: {outcome.explain()}")
        return outcome


def elapsed(outcome):
    """Milliseconds that the program says it took."""
    found = ELAPSED.search(outcome.stdout) or ELAPSED.search(outcome.stderr)
    require(found, "it does not say `elapsed ms: N`")
    return float(found.group(1))


class Measured:
    """The forms of a program in turn, so that what the machine does meanwhile falls on all alike. Milliseconds of each run
    by form (`time_of` an outcome); `stated`: what the report of each run under --act says was gained, None where it states
    nothing. `forms` has act, and first the form whose output it must have."""

    def __init__(self, repair, bundle, rounds, environment, forms=FORMS, time_of=elapsed):
        self.repair = repair
        self.times = {form: [] for form in forms}
        self.stated = []
        self.differs = 0  # rounds whose output under --act was not that of the bare run
        with tempfile.TemporaryDirectory(prefix="umadvisor-repairs-") as folder:
            trace = Path(folder) / "run.umtrace"
            for number in range(rounds):
                printed = {}
                for form in forms if number % 2 == 0 else reversed(forms):
                    outcome = repair.run(form, bundle, environment, trace)
                    self.times[form].append(time_of(outcome))
                    printed[form] = TIMED.sub("", outcome.stdout)
                    if form == "act":
                        self.stated.append(_stated(bundle, trace, environment))
                self.differs += printed["act"] != printed[forms[0]]

    def median(self, form):
        return statistics.median(self.times[form])

    def ratio(self, above, below):
        return self.median(above) / self.median(below) if self.median(below) else 0

    @property
    def of_hand(self):
        """The share of the hand's gain; 0 where the hand gains nothing."""
        gain = self.median("bare") - self.median("hand")
        return (self.median("bare") - self.median("act")) / gain if gain > 0 else 0

    def text(self):
        stated = [each for each in self.stated if each is not None]
        told = f"{statistics.median(stated):.1f} ms" if stated else "nothing"
        share = f"; of the hand's gain {self.of_hand:.2f}" if "hand" in self.times else ""
        gained = f", gained {self.median('bare') - self.median('act'):.1f}" if "bare" in self.times else ""
        return (", ".join(f"{form} {self.median(form):.1f}" for form in self.times) + f" ms{gained}, stated {told}{share}; output "
                f"{'differs' if self.differs else 'equal'}")

    def figures(self):
        """All there is to say of one program."""
        name, rounds = self.repair.name, len(self.stated)
        figures = [figure(f"{name}.{form}.ms", values, "ms") for form, values in self.times.items()]
        if "hand" in self.times:
            figures.append({"metric": f"{name}.of_hand", "value": round(self.of_hand, 3), "unit": "ratio", "n": rounds})
        if "recorded" in self.times:
            figures.append(figure(f"{name}.act_over_recorded", [act / recorded for act, recorded in zip(
                self.times["act"], self.times["recorded"]) if recorded] or [0], "ratio"))
        stated = [each for each in self.stated if each is not None]
        if stated:
            figures.append(figure(f"{name}.stated.ms", stated, "ms"))
        figures.append({"metric": f"{name}.output.differs", "value": self.differs, "unit": "1", "n": rounds})
        return figures


def _stated(bundle, trace, environment):
    """Milliseconds that the report of a trace says all actions have gained; None if it states no gain of any."""
    answer = run([bundle.umadvisor, "report", "--json", trace], environment, TIME_LIMIT)
    require(answer.status == 0, f"umadvisor report: {answer.explain()}")
    actions = json.loads(answer.stdout)["actions"] or {"lines": []}
    gains = [line["gain_ns"] for line in actions["lines"] if line["gain_ns"] is not None]
    return sum(gains) / 1e6 if gains else None
