"""Whether copies keep the legacy default stream's order: what --act makes of memory has to, whatever else does not."""

import json

from .cases import require
from .differential import late_driver
from .process import run
from .results import figure

PART = "default-order"
PROGRAM = "default_stream_order"
# Of what --act gives to programs: rewritten memory and the advice of relieve.
KEPT = ("managed", "managed.prefers_device", "managed.accessed_by", "managed.read_mostly")


def check_default_order(cases, bundle):
    """Returns the figures of suite default-order: copies that came too early."""
    figures = []

    def body():
        # simcuda itself does everything at once, in order.
        outcome = run([bundle.program(PROGRAM)], bundle.environment(**late_driver(bundle) if bundle.sim else {}))
        require(outcome.status == 0, outcome.explain())
        lines = [json.loads(line) for line in outcome.stdout.splitlines()]
        figures.extend(figure(f"early.{line['source']}.{line['bytes']}.{line['order']}", [line["early"] / line["of"]], "1")
                       for line in lines)
        early = [line for line in lines if line["early"] and (line["source"] in KEPT or line["order"] == "by_event")]
        require(not early, f"copies that came too early: {early}")
        return f"early elsewhere: {sum(line['early'] > 0 for line in lines)} of {len(lines)} kinds"

    cases.check(PART, PROGRAM, body)
    return figures
