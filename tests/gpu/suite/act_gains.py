"""What the report says --act has gained, against what programs gain: bare runs and runs with it in turn."""

import statistics
from dataclasses import dataclass

from .cases import require
from .process import run
from .results import figure, result_text, times

PART = "act-gains"
PAIRS = 3
SHARE = 0.03  # of a bare run: less is no gain, and no loss
SIM_SMALLER = 2  # simcuda goes through every element
SIM_ROUNDS = 300


@dataclass(frozen=True)
class Program:
    name: str
    mode: str = "prefetch"
    mib: int = 16
    rounds: int = 300
    metric: str = "work"
    devices: int = 1
    sim: bool = True  # it times itself by a clock that simcuda drives

    def command(self, bundle):
        mib = max(1, self.mib // SIM_SMALLER) if bundle.sim else self.mib
        return [bundle.program(self.name), "--time", "--mib", mib, "--rounds", self.count(bundle)]

    def count(self, bundle):
        return min(self.rounds, SIM_ROUNDS) if bundle.sim else self.rounds

    def time_of(self, outcome):
        """Microseconds of all rounds."""
        found = times(outcome)[self.metric]
        return found * self.rounds if self.metric.endswith("median") else found


# Long enough for rounds to be left alone. `resident`, `device_halves` and `device_updates` have nothing to gain.
PROGRAMS = (
    Program("ping_pong"), Program("stencil"), Program("small_update", rounds=1500), Program("histogram", rounds=2000),
    Program("reduction", rounds=2000), Program("k_means", rounds=1500), Program("sparse_product", rounds=600),
    Program("struct_of_pointers"), Program("many_small", mib=32), Program("kernel_chain", rounds=600),
    Program("resident", rounds=400), Program("read_by_both", "relieve", rounds=200),
    Program("shared_flags", "relieve", rounds=200), Program("renewed_seldom", "relieve", rounds=200),
    Program("pageable_copies", "stage", 32, 220, "upload.median", sim=False),
    Program("device_turns", rounds=200, devices=2), Program("device_table", rounds=200, devices=2),
    Program("device_updates", rounds=200, devices=2), Program("device_halves", rounds=400, devices=2))


@dataclass
class Judged:
    name: str
    bare_us: float
    gained_us: float
    told_us: float = None  # nothing was told

    @property
    def matters(self):
        return abs(self.gained_us) >= SHARE * self.bare_us

    @property
    def sign_wrong(self):
        """Told to be what it is not: a gain that is a loss, or either where there is none."""
        if not self.told_us or abs(self.told_us) < SHARE * self.bare_us:
            return False
        return not self.matters or (self.told_us < 0) != (self.gained_us < 0)

    @property
    def untold(self):
        return self.matters and not self.told_us

    @property
    def error(self):
        """Relative; None where there is nothing to compare."""
        return abs(self.told_us - self.gained_us) / abs(self.gained_us) if self.matters and self.told_us else None

    def line(self):
        return {"program": self.name, "bare_us": round(self.bare_us), "gained_us": round(self.gained_us),
                "told_us": None if self.told_us is None else round(self.told_us), "sign_wrong": self.sign_wrong,
                "error": None if self.error is None else round(self.error, 3)}


def check_act_gains(cases, bundle, advised, texts=("",), devices=1):
    """Returns the gain figures of suite act and a line for each program whose name holds one of `texts`."""
    judged = []
    for program in PROGRAMS:
        if not any(text in program.name for text in texts):
            continue
        name = f"{program.name} --act {program.mode}"
        if program.devices > devices:
            cases.not_run(PART, name, f"needs {program.devices} devices")
        elif bundle.sim and not program.sim:
            cases.not_run(PART, name, "times itself by the machine's clock")
        else:
            cases.check(PART, name, lambda p=program: _judge(bundle, advised, p, judged))
    errors = [each.error for each in judged if each.error is not None]
    figures = [each.line() for each in judged]
    if judged:
        figures += [figure("act.gain.programs", [len(judged)], "1"),
                    figure("act.gain.sign_wrong", [sum(each.sign_wrong for each in judged)], "1"),
                    figure("act.gain.untold", [sum(each.untold for each in judged)], "1")]
    if errors:
        figures += [figure("act.gain.error.median", errors, "1"),
                    figure("act.gain.error.within_30_percent", [sum(each <= 0.3 for each in errors)], "1")]
    two = [each for each in judged if each.name.startswith("device_")]
    figures += [figure(f"act.devices.{each.name}.speedup", [each.bare_us / (each.bare_us - each.gained_us)], "ratio")
                for each in two]
    return figures


def _judge(bundle, advised, program, judged):
    config = {"SIMCUDA_CONFIG": f"capacity=1G,devices={program.devices}"} if bundle.sim else {}
    environment = bundle.environment(**config)
    command = program.command(bundle)
    bare, acted, told, untold = [], [], [], 0
    for number in range(1 if bundle.sim else PAIRS):
        ways = {"bare": lambda: run(command, environment),
                "act": lambda: advised.run(command, ["--act", program.mode], environment)}
        held = {way: ways[way]() for way in (("act", "bare") if number % 2 else ("bare", "act"))}
        plain, (outcome, traces) = held["bare"], held["act"]
        for each in (plain, outcome):
            require(each.status == 0, each.explain())
        require(result_text(plain) == result_text(outcome), "output differs from the bare run")
        require(traces, "no trace was written")
        bare.append(program.time_of(plain))
        acted.append(program.time_of(outcome))
        actions = advised.report(traces[0])["actions"] or {"lines": []}
        gains = [line["gain_ns"] for line in actions["lines"] if line["gain_ns"] is not None]
        if gains:
            told.append(sum(gains) / 1e3)
        else:
            untold += 1
    middle = statistics.median
    judged.append(Judged(program.name, middle(bare), middle(bare) - middle(acted),
                         middle(told) if len(told) > untold else None))
    last = judged[-1]
    detail = (f"bare {last.bare_us / 1e3:.1f} ms, gained {last.gained_us / 1e3:.1f} ms, told "
              + ("nothing" if last.told_us is None else f"{last.told_us / 1e3:.1f} ms"))
    require(not last.sign_wrong, f"told to be what it is not: {detail}")
    return detail
