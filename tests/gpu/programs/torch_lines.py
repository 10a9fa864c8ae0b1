"""Copies of PyTorch, each from a Python frame of another kind. Prints a line of JSON for each place that copies: file,
line and function as Python tells them, and which way the bytes go."""

import asyncio
import json
import sys
import threading

import torch

host = torch.randn(1 << 22)  # 16 MiB, pageable
pinned = host.pin_memory()
device = torch.zeros(1 << 22, device="cuda")


def said(direction, memory):
    """On the line that copies. `memory`: of the host's end; None: any, since item() goes through pinned memory in newer
    versions of PyTorch."""
    frame = sys._getframe(1)
    function = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
    print(json.dumps([frame.f_code.co_filename, frame.f_lineno, function, direction, memory]), flush=True)


def pageable_step():
    host.to("cuda"), said("HtoD", "pageable")


def pinned_step():
    pinned.to("cuda", non_blocking=True), said("HtoD", "pinned")


def item_step():
    device[7].item(), said("DtoH", None)


def batches():
    yield host.to("cuda"), said("HtoD", "pageable")


async def task():
    await asyncio.sleep(0)
    host.to("cuda"), said("HtoD", "pageable")


def work():
    host.to("cuda"), said("HtoD", "pageable")
    device[7].item(), said("DtoH", None)


def cell(number, source):
    exec(compile(source, f"<ipython-input-{number}>", "exec"), globals())


pageable_step()
pinned_step()
for _ in range(3):
    item_step()
list(batches())
(lambda: (host.to("cuda"), said("HtoD", "pageable")))()
asyncio.run(task())
thread = threading.Thread(target=work)
thread.start()
thread.join()
cell(1, "\n\nhost.to('cuda'), said('HtoD', 'pageable')\n")
cell(2, "\ndevice[7].item(), said('DtoH', None)\n")
torch.cuda.synchronize()
