"""A process with a control socket, as the shim has it, that answers as a test wants.

    live_server.py BEHAVIOUR FOLDER [TRACE]     FOLDER "": the abstract namespace

Prints "ready" once it can be reached, then each request as it comes. TRACE is what a snapshot is a copy of."""

import contextlib
import json
import os
import shutil
import socket
import sys
import threading
import time

BEHAVIOUR, FOLDER, TRACE = sys.argv[1], sys.argv[2], (sys.argv + [""])[3]
START = time.monotonic_ns()
KEPT = (5 << 28, 64 << 20) if BEHAVIOUR == "keep" else (0, 0)
recording = {"file": "", "count": 0, "on": False, "begun_ns": 0}


def counters():
    """Grows evenly with time: 1 GB/s to the device, half of it pageable, 25% of the time in waits."""
    now = time.monotonic_ns()
    seconds = (now - START) / 1e9
    copies = {kind: {"calls": 0, "bytes": 0, "pageable_bytes": 0} for kind in ("h2d", "d2h", "d2d", "peer", "h2h", "managed")}
    copies["h2d"] = {"calls": int(seconds * 100), "bytes": int(seconds * 1e9), "pageable_bytes": int(seconds * 5e8)}
    return {"ok": True, "monotonic_ns": now, "watched_ns": now - START, "copies": copies, "launches": int(seconds * 1000),
            "graph_launches": 0, "waits": {"calls": int(seconds * 10), "ns": int(seconds * 25e7)}, "calls_ns": 0,
            "managed": {"to_device_bytes": int(seconds * 2e9), "to_host_bytes": 0, "device_faults": int(seconds * 300),
                        "host_faults": int(seconds * 200), "thrashing": int(seconds * 7)},
            "memory": {"device_bytes": 64 << 20, "managed_bytes": 32 << 20, "pinned_bytes": 16 << 20, "allocations": 3, "refused": 1},
            "act": {"actions": int(seconds * 4), "bytes": 0}}


def answer(words):
    command, values = words[0], dict(word.split("=", 1) for word in words[1:])
    if command == "counters":
        return counters()
    if command == "status":
        return {"ok": True, "protocol": 1, "version": "1.0.0", "pid": os.getpid(), "program": "live_server.py", "mode": "standby",
                "recording": recording["on"], "file": recording["file"], "recordings": recording["count"],
                "watched": False, "begun_ns": recording["begun_ns"],
                "kept_device_bytes": KEPT[0], "kept_pinned_bytes": KEPT[1], "trigger": "copy.h2d.bytes/s > 1GiB", "act": [{"mode": "prefetch", "on": True}, {"mode": "stage", "on": False}]}
    if command == "start":
        recording.update(file=values.get("output", f"{os.getcwd()}/live_server.py.{os.getpid()}.umtrace"), on=True,
                         begun_ns=time.monotonic_ns())
        recording["count"] += 1
        return {"ok": True, "file": recording["file"]}
    if command == "stop":
        if not recording["on"]:
            return {"ok": False, "error": "nothing is recorded"}
        recording["on"] = False
        if TRACE:
            shutil.copyfile(TRACE, recording["file"])
        return {"ok": True, "file": recording["file"]}
    if command == "snapshot":
        shutil.copyfile(TRACE, values["output"])
        return {"ok": True, "file": values["output"]}
    return {"ok": True} if command in ("mark", "act") else {"ok": False, "error": f"unknown command {command}"}


def serve(client):
    for line in client.makefile("rb"):
        print(line.decode().rstrip("\n"), flush=True)
        if BEHAVIOUR == "hang":
            time.sleep(3600)
        elif BEHAVIOUR == "garbage":
            client.sendall(b"\x00\xff{]\x1b[31m\n")
        elif BEHAVIOUR == "list":
            client.sendall(b"[1,2]\n")
        elif BEHAVIOUR == "lie":
            client.sendall(b'{"ok":true,"file":-1,"copies":7,"monotonic_ns":"now","act":[3],"mode":{},"recordings":-5}\n')
        elif BEHAVIOUR == "refuse":
            client.sendall(b'{"ok":false,"error":"it is \\u001b[31mnot possible"}\n')
        elif BEHAVIOUR == "huge":
            while True:
                client.sendall(b'{"ok":true,"pad":"' + b"x" * 65536)
        elif BEHAVIOUR == "close":
            client.shutdown(socket.SHUT_RDWR)
            return
        else:
            client.sendall(json.dumps(answer(line.decode().rstrip("\n").split("\t"))).encode() + b"\n")


def serve_until_it_ends(client):
    with contextlib.suppress(OSError):  # the client ended before it read all
        serve(client)


def main():
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(f"{FOLDER}/{os.getpid()}" if FOLDER else f"\0umadvisor/{os.getuid()}/{os.getpid()}")
    server.listen(8)
    print("ready", flush=True)
    while True:
        client, _ = server.accept()
        threading.Thread(target=serve_until_it_ends, args=(client,), daemon=True).start()


if __name__ == "__main__":
    main()
