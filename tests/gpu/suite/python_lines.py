"""Python programs on frameworks: every finding is at a line of the program, none at one of a framework's or of libc."""

import sys
from importlib.util import find_spec
from pathlib import Path

from .cases import require
from .process import run
from .results import figure

PART = "python"
PROGRAMS = Path(__file__).resolve().parents[1] / "programs" / "python"

# What each imports beside the standard library.
MODULES = {"transformers_train": ("torch", "transformers"), "transformers_generate": ("torch", "transformers"),
           "lightning_fit": ("torch", "lightning"), "accelerate_loop": ("torch", "accelerate"),
           "geometric_conv": ("torch", "torch_geometric"), "gpytorch_exact": ("torch", "gpytorch"),
           "sentence_embeddings": ("sentence_transformers", "transformers"), "onnxruntime_run": ("onnx", "onnxruntime"),
           "cupy_rounds": ("cupy",), "jax_rounds": ("jax",), "compiled_rounds": ("torch",), "ddp_rounds": ("torch",),
           "loader_workers": ("torch",), "torch_to_cupy": ("torch", "cupy")}
# A rule that has to be found, and the end of the only line that it may name.
NAMED = {"torch_to_cupy": ("UMA-111", "# handed over")}
ON_CUDA = "import onnxruntime; assert 'CUDAExecutionProvider' in onnxruntime.get_available_providers()"


def check_python(cases, bundle, advised):
    """Returns the figures of suite python."""
    strangers, judged = [], []
    for name, modules in MODULES.items():
        missing = [] if bundle.sim else [each for each in modules if find_spec(each) is None]
        if bundle.sim:
            cases.not_run(PART, name, "not run on simcuda")
        elif missing:
            cases.not_run(PART, name, f"python3 here has no {missing[0]}")
        elif "onnxruntime" in modules and not _runs(bundle, ON_CUDA):
            cases.not_run(PART, name, "onnxruntime here is built without CUDA")
        else:
            cases.check(PART, name, lambda n=name: _check(advised, n, strangers, judged))
    if not judged:
        return []
    return [figure("python.programs", [len(judged)], "1"), figure("python.lines_not_users", [len(strangers)], "1")]


def _runs(bundle, statement):
    return run([sys.executable, "-c", statement], bundle.environment()).status == 0


def _check(advised, name, strangers, judged):
    traces = advised.run_as_bare([sys.executable, PROGRAMS / f"{name}.py"])
    findings = [each for trace in traces for each in advised.report(trace)["findings"]]
    require(findings, "nothing was found, so no line was judged")
    foreign = [each for each in findings if not of_program(each, PROGRAMS)]
    judged.append(name)
    strangers += foreign
    told = "; ".join(f"{each['rule']} {each['line']['text'] if each['line'] else 'no line'}" for each in findings)
    if name in NAMED:
        rule, end = NAMED[name]
        lines = [each["line"]["source"] for each in findings if each["rule"] == rule]
        require(lines and all(line.rstrip().endswith(end) for line in lines), f"{rule} at {lines}: {told}")
    require(not foreign, f"{len(foreign)} not at a line of the program: {told}")
    return told


def of_program(finding, folder):
    """Whether a finding of a report is at a line of a file in this folder."""
    return bool(finding["line"]) and Path(folder) in Path(finding["line"]["file"]).parents
