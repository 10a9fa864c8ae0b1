"""An independent count beside a run: CUPTI's on a GPU, simcuda's own on simcuda."""

import json
import os
import tempfile

from .cases import require


class CuptiCounter:
    """Gives the environment that loads libcupti_copies.so, and reads what it wrote."""

    name = "CUPTI"

    def __init__(self, bundle, unified_memory=False):
        self._path = _empty_file()
        self._unified_memory = unified_memory
        self.environment = {"CUDA_INJECTION64_PATH": str(bundle.library("libcupti_copies.so")),
                            "CUPTI_COUNTS": self._path}
        if unified_memory:
            self.environment["CUPTI_COUNTS_UM"] = "1"

    def read(self):
        """Copy rows, and with unified_memory the faults of both sides and the bytes moved each way."""
        counts = _read(self._path, "the CUPTI counter wrote nothing: was it loaded?")
        require(counts["dropped"] == 0, f"CUPTI dropped {counts['dropped']} records")
        answer = {"copies": counts["copies"]}
        if self._unified_memory:
            require("unified_memory" in counts, "CUPTI's unified-memory counters were never switched on")
            found = counts["unified_memory"]
            require(found["status"] == "CUPTI_SUCCESS", f"CUPTI's unified-memory counters: {found['status']}")
            answer.update(device_faults=found["device_fault_records"], host_faults=found["host_faults"],
                          to_device_bytes=found["to_device_bytes"], to_host_bytes=found["to_host_bytes"],
                          blocks=found["blocks"])
        return answer


class SimcudaCounter:
    """The same answers from the report that simcuda writes at exit."""

    name = "simcuda"

    def __init__(self, _bundle, unified_memory=False):
        del unified_memory  # always counted
        self._path = _empty_file()
        self.environment = {"SIMCUDA_REPORT": self._path}

    def read(self):
        counts = _read(self._path, "simcuda wrote no report")
        copies = [{"direction": row["direction"], "source_memory": row["source"],
                   "destination_memory": row["target"], "count": row["calls"], "bytes": row["bytes"]}
                  for row in counts["copies"]]
        return {"copies": copies, "device_faults": counts["device_fault_groups"],
                "host_faults": counts["host_faults"],
                "to_device_bytes": sum(counts["bytes_to_device"].values()),
                "to_host_bytes": sum(counts["bytes_to_host"].values())}


def counter(bundle, unified_memory=False):
    return (SimcudaCounter if bundle.sim else CuptiCounter)(bundle, unified_memory)


def _empty_file():
    handle, path = tempfile.mkstemp(prefix="umadvisor-counts-", suffix=".json")
    os.close(handle)
    return path


def _read(path, when_empty):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    os.unlink(path)
    require(text, when_empty)
    return json.loads(text)
