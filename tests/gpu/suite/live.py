"""Recording of running processes (docs/live.md): what standby costs, how soon a recording begins and its report is there, what is
left of it afterwards, and whether many recordings, bad clients and a long ring lose or hold anything."""

from . import live_attach, live_clients, live_cycles, live_ring, live_training
from .cases import Failure

PARTS = ("standby", "after", "attach", "cycles", "clients", "ring")
PATIENCE_S = 0.1
# What has to be zero wherever it is measured.
ZERO = ("cycles.lost", "cycles.limited.lost", "clients.failed", "ring.memory_growth.steady.kib", "ring.descriptors",
        "ring.file_growth.kib")


def measure(bundle, parts, quick, patience, say):
    """Figures of suite live."""
    figures = []
    for part in parts:
        if part == "standby":
            figures += live_attach.standby_calls(bundle, say, quick)
            figures += _training(bundle, live_training.standby, say, quick)
        elif part == "after":
            figures += _training(bundle, live_training.after, say, quick)
        elif part == "attach":
            figures += live_attach.attach_time(bundle, say, quick) + live_attach.attach_all(bundle, say, quick)
            if live_training.why_not(bundle):  # else of the training, in the part `after`
                figures += live_attach.report_after_stop(bundle, say, quick)
        elif part == "cycles":
            figures += live_cycles.cycles(bundle, say, 200 if quick else 10_000) + live_cycles.limited_cycles(bundle, say)
        elif part == "clients":
            figures += live_clients.clients(bundle, say, 100 if quick else 1000, patience)
        else:
            figures += live_ring.ring(bundle, say, quick)
    return figures


def broken(figures):
    """Names of figures that have to be zero and are more."""
    return [each["metric"] for each in figures if each["metric"] in ZERO and each["value"] > 0]


def check_live(cases, bundle):
    """The whole suite as a part of tools/gpu-test: quick, where times mean nothing. Returns its figures."""
    figures = []
    for part in PARTS:
        def check(one=part):
            said = []
            made = measure(bundle, [one], True, 10 if bundle.sim else PATIENCE_S, said.append)
            figures.extend(made)
            if broken(made):
                raise Failure(f"{', '.join(broken(made))} not 0: {'; '.join(said)}")
            return "; ".join(said)
        cases.check("live", part, check)
    return figures


def _training(bundle, part, say, quick):
    why_not = live_training.why_not(bundle)
    if why_not:
        say(why_not)
        return []
    return part(bundle, say, quick)
