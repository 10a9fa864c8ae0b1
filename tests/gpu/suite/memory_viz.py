"""`umadvisor export --memory-viz` of a PyTorch program that runs out of memory, read by PyTorch's own code."""

import json
import sys
from pathlib import Path

from .cases import require
from .process import run

PART = "memory-viz"
PROGRAM = "torch_out_of_memory.py"
PROGRAMS = Path(__file__).resolve().parents[1] / "programs"

# Reads the snapshot as users do: each view of torch.cuda._memory_viz that needs no network.
VIEWS = """
import json, pickle, sys, torch.cuda._memory_viz as viz
data = pickle.load(open(sys.argv[1], "rb"))
summary, history = viz.segsum(data), viz.trace(data)
drawn = [viz.trace_plot(data), viz.trace_plot(data, plot_segments=True), viz.segment_plot(data)]
lines = []
viz.memory(data, format_flamegraph=lines.append)
viz.segments(data, format_flamegraph=lines.append)
print(json.dumps({"segments": data["segments"], "steps": data["device_traces"], "summary": summary, "history": history,
                  "drawn": [len(each) for each in drawn], "flames": lines}))
"""


def check_memory_viz(cases, bundle, advised):
    if bundle.sim:
        cases.not_run(PART, PROGRAM, "not run on simcuda")
    elif run([sys.executable, "-c", "import torch"], bundle.environment()).status != 0:
        cases.not_run(PART, PROGRAM, "python3 here has no torch")
    else:
        cases.check(PART, PROGRAM, lambda: _check(bundle, advised))


def _views(bundle, trace, options, output):
    written = run([bundle.umadvisor, "export", "--memory-viz", *options, "-o", output, trace], bundle.environment())
    require(written.status == 0, f"umadvisor export: {written.explain()}")
    read = run([sys.executable, "-c", VIEWS, output], bundle.environment())
    require(read.status == 0, f"torch.cuda._memory_viz: {read.explain()}")
    return json.loads(read.stdout.splitlines()[-1])


def _check(bundle, advised):
    outcome, traces = advised.run_well([sys.executable, PROGRAMS / PROGRAM])
    told, marked = outcome.stdout.splitlines()[0], json.loads(outcome.stdout.splitlines()[-1])
    require(told == "out of memory", f"the program said: {told}")
    at_end = _views(bundle, traces[0], [], traces[0].with_suffix(".pickle"))
    at_oom = _views(bundle, traces[0], ["--at-oom"], traces[0].with_suffix(".oom.pickle"))
    steps = [step for device in at_end["steps"] for step in device]
    missed = [step for step in steps if step["action"] == "oom"]
    require(missed and all(step["size"] >= 4 << 40 for step in missed), f"failed allocations: {missed}")
    require(_line_on_top(missed[0]) == marked["asking"], f"not on top: line {marked['asking']} of {missed[0]['frames']}")
    sizes = sorted(segment["total_size"] >> 20 for segment in at_oom["segments"]
                   if _line_on_top(segment) == marked["held"])
    require(sizes == [64, 96, 128], f"held when memory was out: {sizes} MiB")
    require("OutOfMemoryError" in at_end["history"], "trace() shows no failed allocation")
    require(min(at_end["drawn"] + at_oom["drawn"]) > 1000, "a plot is empty")
    require(f"{PROGRAM}:{marked['held']}:" in at_oom["flames"][0], "the flame graph does not name the line that held most")
    return f"{len(steps)} steps, {len(at_end['segments'])} segments at the end, {len(missed)} failed"


def _line_on_top(entry):
    frames = entry["frames"]
    return frames[0]["line"] if frames and frames[0]["filename"].endswith(PROGRAM) else None
