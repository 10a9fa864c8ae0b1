"""Results as JSON lines: one that describes the run, then one a figure."""

import datetime
import json
import os
import re
import statistics

from .process import run


def _gpu():
    answer = run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], dict(os.environ), 30)
    first = answer.stdout.strip().splitlines()[:1]
    if answer.status != 0 or not first or "," not in first[0]:
        return None
    name, driver = first[0].rsplit(",", 1)
    return name.strip(), driver.strip()


def _cuda(environment):
    """The CUDA version that nvidia-smi says its driver serves."""
    found = re.search(r"CUDA Version:\s*([0-9.]+)", run(["nvidia-smi"], environment, 30).stdout)
    return found.group(1) if found else "unknown"


def _cpu():
    with open("/proc/cpuinfo") as lines:
        names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
        return next(names, "unknown")


def header(suite, bundle):
    gpu, driver = ("simcuda", "simcuda") if bundle.sim else (_gpu() or ("unknown", "unknown"))
    return {"run": {"suite": suite, "gpu": gpu, "driver": driver,
                    "cuda": "simcuda" if bundle.sim else _cuda(dict(os.environ)),
                    "host_cpu": _cpu(), "host_cores": len(os.sched_getaffinity(0)),
                    "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                    "commit": bundle.commit()}}


def figure(metric, values, unit):
    """The median of `values`, with how many there were and their range."""
    values = list(values)
    middle, low, high = (round(value, 3) for value in (statistics.median(values), min(values), max(values)))
    return {"metric": metric, "value": middle, "unit": unit, "n": len(values), "min": low, "max": high}


def write(suite, bundle, figures, folder=None, file=None):
    """Prints the lines of a suite and, with a folder, writes them to FOLDER/FILE.jsonl as well; FILE: the suite."""
    text = "".join(json.dumps(line) + "\n" for line in [header(suite, bundle), *figures])
    print(text, end="", flush=True)
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{file or suite}.jsonl").write_text(text)


def times(outcome):
    """Figures a program printed with --time, by name."""
    found = {}
    for line in outcome.stdout.splitlines():
        if line.startswith("{"):
            record = json.loads(line)
            if "metric" in record:
                found[record["metric"]] = record["value"]
    return found


def result_text(outcome):
    """What a program printed, without measured times."""
    return "\n".join(line for line in outcome.stdout.splitlines() if not line.startswith("{"))
