"""A program that sleeps under umadvisor, its control socket, and what is known of a trace before it is read."""

import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path

from .cases import Failure, require

START_LIMIT = 120  # seconds until the program's first CUDA call: PyTorch on a machine that has not read its files yet
# Of the header of a trace (trace/layout.hpp): whether it is closed, and CLOCK_REALTIME when the recording began, which is true on
# simcuda, too.
STATE, CLOSED, REALTIME = 37, 1, 40


class Client:
    """A connection to a control socket."""

    def __init__(self, path, seconds=10):
        self.socket = socket.socket(socket.AF_UNIX)
        # With a limit of Python's own, connect() would fail where others wait to be accepted.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", seconds, 0))
        self.socket.connect(str(path))
        self.socket.settimeout(seconds)
        self.rest = b""

    def ask(self, *words):
        """Returns the answer as an object. Raises Failure where there is none, or it says that the request failed."""
        self.socket.sendall("\t".join(words).encode() + b"\n")
        answer = self.answer()
        require(answer.get("ok") is True, f"{words[0]}: {answer.get('error')}")
        return answer

    def answer(self):
        while b"\n" not in self.rest:
            try:
                read = self.socket.recv(65536)
            except TimeoutError as error:
                raise Failure("no answer") from error
            require(read, "the connection was closed")
            self.rest += read
        line, _, self.rest = self.rest.partition(b"\n")
        return json.loads(line)

    def close(self):
        self.socket.close()


class Live:
    """Programs under one folder for sockets and traces, which nothing else uses: --all finds these alone. Use as a context; at
    its end they are killed and the folder is removed. `in_memory`: it lies in /dev/shm, for traces that come and go by thousands."""

    def __init__(self, bundle, in_memory=False):
        self.bundle = bundle
        self.parent = "/dev/shm" if in_memory and os.access("/dev/shm", os.W_OK) else None
        self.processes = []

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="umadvisor-live-", dir=self.parent))
        (self.folder / "umadvisor").mkdir(mode=0o700)
        return self

    def __exit__(self, *_):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.communicate()
        shutil.rmtree(self.folder)

    def environment(self, shim=True, **settings):
        own = {"XDG_RUNTIME_DIR": str(self.folder), "UMADVISOR_QUIET": "1"}
        if shim:
            own["LD_PRELOAD"] = str(self.bundle.library("libumadvisor.so"))
        return self.bundle.environment(**own) | settings

    def start(self, command, shim=True, **settings):
        """Returns the process; `settings` are variables, by default those of standby."""
        settings = settings or {"UMADVISOR_MODE": "standby"}
        process = subprocess.Popen([str(word) for word in command], cwd=self.folder, text=True, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, env=self.environment(shim, **(settings if shim else {})))
        self.processes.append(process)
        return process

    def load(self, *arguments, under=(), **settings):
        """Starts live_load and waits for its first round; returns the process and what counts its rounds. `under`: a command that
        runs it in its own place."""
        counters = self.folder / f"counters-{len(self.processes)}"
        process = self.start([*under, self.bundle.program("live_load"), "--counters", counters, *arguments], **settings)
        wait(lambda: counters.exists() and counters.stat().st_size and min(rounds(counters)), process)
        return process, counters

    def connect(self, process):
        path = self.folder / "umadvisor" / str(process.pid)
        wait(path.is_socket, process)
        return Client(path)

    def attach(self, *arguments, **more):
        """Runs `umadvisor attach` and returns what it printed."""
        done = subprocess.run([str(word) for word in (self.bundle.umadvisor, "attach", *arguments)], cwd=self.folder, text=True,
                              capture_output=True, timeout=120, check=False, env=self.environment(shim=False), **more)
        require(done.returncode == 0, f"umadvisor attach {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout


def wait(condition, process, seconds=START_LIMIT):
    last = time.monotonic() + seconds
    while not condition():
        require(process.poll() is None, f"the program ended with status {process.returncode}")
        require(time.monotonic() < last, f"nothing came of the program within {seconds} s")
        time.sleep(0.005)


def numbers(counters):
    """Pairs of each thread of live_load: rounds done, and where the places of its numbers begin."""
    return list(struct.iter_unpack("<QQ", counters.read_bytes()))


def rounds(counters):
    return [done for done, _ in numbers(counters)]


def began_ns(trace):
    """CLOCK_REALTIME when a recording began. Only of a trace that is complete: until then the file's header is old."""
    header = trace.read_bytes()[:128]
    require(header[STATE] == CLOSED, f"{trace.name} is not closed")
    return struct.unpack_from("<Q", header, REALTIME)[0]
