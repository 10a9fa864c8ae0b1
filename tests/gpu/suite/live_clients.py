"""Clients that send nonsense, or are killed in the middle of a request. The program must come to the same result as without umadvisor,
and each good request between them must be answered in time."""

import os
import random
import signal
import subprocess
import time

from .cases import Failure
from .live_process import Client, Live
from .results import figure

ARGUMENTS = ("--threads", 3, "--rate", 500)
ROUNDS_A_CLIENT, FEWEST_ROUNDS = 20, 1000  # of the program, so that it lasts as long as the clients
BAD_LINES = (b"\n", b"\t\t\t\n", b"stat\n", b"STATUS\n", b"status now\n", b"start\tfor=never\n", b"start\tfor=-1\n",
             b"start\tfor=99999999999999999999999\n", b"start\toutput=not/absolute\n", b"start\toutput=/no/such/folder/x.umtrace\n",
             b"start\tcolour=red\n", b"act\tmode=fly\ton=1\n", b"act\tmode=prefetch\ton=2\n", b"act\n", b"mark\n",
             b"snapshot\toutput=here.umtrace\n",
             b"\xff\xfe\x00\x01\n", b"\x00" * 100 + b"\n", b'{"command":"status"}\n', b"GET / HTTP/1.1\r\n", b"x" * 8000 + b"\n")
CROWD = 24  # more than are served at once


class Bad:
    """Bad clients of one process. Each method is one and returns whether the process behaved."""

    def __init__(self, live, process, draw):
        self.live, self.process, self.draw = live, process, draw
        self.path = live.folder / "umadvisor" / str(process.pid)

    def connect(self):
        return Client(self.path)

    def line(self):
        """Is refused in words, and the next request of the same client is not."""
        client = self.connect()
        client.socket.sendall(self.draw.choice(BAD_LINES))
        answer = client.answer()
        good = answer["ok"] is False and answer["error"] != ""
        good = good and client.ask("status")["ok"]
        client.close()
        return good

    def endless(self):
        """A line that does not end: the connection does."""
        client = self.connect()
        try:
            for _ in range(64):
                client.socket.sendall(os.urandom(4096).replace(b"\n", b" "))
            while client.socket.recv(65536):
                pass
        except (BrokenPipeError, ConnectionResetError):
            return True
        except TimeoutError:
            return False
        finally:
            client.close()
        return True

    def deaf(self):
        """Asks and asks, and never reads."""
        client = self.connect()
        client.socket.settimeout(1)
        try:
            for _ in range(200):
                client.socket.sendall(b"status\n" * 50)
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            pass
        client.close()
        return True

    def half(self):
        """Goes away in the middle of a request."""
        client = self.connect()
        request = f"start\toutput={self.live.folder}/half.umtrace\thold=1\n".encode()
        client.socket.sendall(request[:self.draw.randrange(1, len(request) + 1)])
        client.close()
        return True

    def crowd(self):
        """More clients than are served."""
        clients = [self.connect() for _ in range(CROWD)]
        for client in clients:
            client.close()
        return True

    def killed(self):
        """`umadvisor attach` is killed, wherever it is."""
        command = [self.live.bundle.umadvisor, "attach", self.process.pid, *self.draw.choice(
            (("start", "-o", self.live.folder / "killed.umtrace", "--for", "1s"), ("stop",), ("-o", self.live.folder / "killed.umtrace"),
             ("snapshot", "-o", self.live.folder / "snapshot.umtrace"), ("status",)))]
        client = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  env=self.live.environment(shim=False))
        time.sleep(self.draw.uniform(0, 0.03))
        client.send_signal(signal.SIGKILL)
        client.wait()
        return True


def answered(client, path, patience):
    """Whether a client that has long been there, and a new one, are answered in time. The places of those that have just gone may
    not be free yet; then the new one asks again."""
    begin = time.monotonic()
    client.ask("status")
    old = time.monotonic() - begin
    while True:
        new = Client(path)
        try:
            new.ask("status")
            return max(old, time.monotonic() - begin - old)
        except Failure as failure:
            if "too many clients" not in str(failure) or time.monotonic() - begin > patience:
                raise
        finally:
            new.close()
        time.sleep(0.001)


def clients(bundle, say, count, patience):
    """Figures of so many bad clients."""
    draw, failed, slowest = random.Random(1), [], 0.0
    arguments = (*ARGUMENTS, "--rounds", max(FEWEST_ROUNDS, ROUNDS_A_CLIENT * count))
    with Live(bundle) as live:
        process, _ = live.load(*arguments)
        bare = live.start([bundle.program("live_load"), *arguments], shim=False)
        bad = Bad(live, process, draw)
        kinds = (bad.line, bad.line, bad.line, bad.endless, bad.deaf, bad.half, bad.half, bad.crowd, bad.killed)
        good = live.connect(process)
        for _ in range(count):
            kind = draw.choice(kinds)
            try:
                if not kind():
                    failed.append(kind.__name__)
                seconds = answered(good, bad.path, patience)
                slowest = max(slowest, seconds)
                if seconds > patience:
                    failed.append(f"{kind.__name__}: answered after {seconds * 1e3:.0f} ms")
            except (Failure, OSError, ValueError) as error:
                failed.append(f"{kind.__name__}: {error}")
                if process.poll() is not None:
                    break
        outlived = process.poll() is None
        good.close()
        outputs = [(each.communicate()[0], each.returncode) for each in (process, bare)]
        if outputs[0] != outputs[1]:
            failed.append(f"the program: {outputs[0]}, bare {outputs[1]}")
    for each in failed[:5]:
        say(f"clients: {each}")
    say(f"{count} bad clients: {len(failed)} failures, the slowest good answer after {slowest * 1e3:.1f} ms; the program "
        f"{'outlived' if outlived else 'did not outlive'} them")
    return [figure("clients.failed", [len(failed)], "1"), figure("clients.count", [count], "1"),
            figure("clients.slowest.ms", [slowest * 1e3], "ms")]
