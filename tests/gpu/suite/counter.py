"""The CUPTI counter beside a run."""

import json
import os
import tempfile

from .cases import require


class Counter:
    """Gives the environment that loads the counter, and reads what it wrote."""

    def __init__(self, bundle, unified_memory=False):
        handle, self._path = tempfile.mkstemp(prefix="cupti-counts-", suffix=".json")
        os.close(handle)
        self.environment = {"CUDA_INJECTION64_PATH": str(bundle.library("libcupti_copies.so")),
                            "CUPTI_COUNTS": self._path}
        self._unified_memory = unified_memory
        if unified_memory:
            self.environment["CUPTI_COUNTS_UM"] = "1"

    def read(self):
        with open(self._path, encoding="utf-8") as file:
            text = file.read()
        os.unlink(self._path)
        require(text, "the CUPTI counter wrote nothing: was it loaded?")
        counts = json.loads(text)
        require(counts["dropped"] == 0, f"CUPTI dropped {counts['dropped']} records")
        if self._unified_memory:
            require("unified_memory" in counts, "CUPTI's unified-memory counters were never switched on")
            status = counts["unified_memory"]["status"]
            require(status == "CUPTI_SUCCESS", f"CUPTI's unified-memory counters: {status}")
        return counts
