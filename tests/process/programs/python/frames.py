"""Calls the driver from every kind of Python frame. Each call's stack is printed as Python tells it: a line of JSON with
the size that marks the allocation, and the frames."""
import asyncio
import ctypes
import functools
import json
import threading

import driver

driver.start()
sizes = iter(range(4097, 100_000))
printing = threading.Lock()
new = functools.partial(driver.released.cuMemAlloc_v2, ctypes.byref(driver.address))
new_held = functools.partial(driver.held.cuMemAlloc_v2, ctypes.byref(driver.address))


def mark():
    size = next(sizes)
    with printing:
        print(json.dumps({"bytes": size, "frames": driver.stack()[1:]}), flush=True)
    return ctypes.c_size_t(size)


def function():
    new(mark())


def holding_the_gil():
    new_held(mark())


def generator():
    yield new(mark())
    yield from another_generator()


def another_generator():
    yield new(mark())


def decorated(inner):
    @functools.wraps(inner)
    def wrapper(*arguments):
        return inner(*arguments)

    return wrapper


@decorated
def behind_a_decorator():
    new(mark())


class Model:
    new(mark())  # while the class is made

    def method(self):
        new(mark())

    @classmethod
    def class_method(cls):
        new(mark())

    @property
    def attribute(self):
        return new(mark())

    def __enter__(self):
        new(mark())
        return self

    def __exit__(self, *what):
        new(mark())


class Übertragung:
    def größe(self):
        new(mark())


def recursion(depth):
    if depth == 0:
        new(mark())
    else:
        recursion(depth - 1)


def handler():
    try:
        raise ValueError
    except ValueError:
        new(mark())
    finally:
        new(mark())


async def coroutine():
    await asyncio.sleep(0)
    new(mark())
    async for _ in asynchronous_generator():
        pass


async def asynchronous_generator():
    new(mark())
    yield 1


def in_a_thread():
    driver.released.cuCtxSetCurrent(driver.context)
    new(mark())
    new_held(mark())
    recursion(5)


def cell(number, source):
    """As a notebook runs its cells."""
    exec(compile(source, f"<cell {number}>", "exec"), globals())


function()
holding_the_gil()
list(generator())
(lambda: new(mark()))()
behind_a_decorator()
with Model() as model:
    model.method()
    model.class_method()
    model.attribute
Übertragung().größe()
recursion(3)
recursion(300)
handler()
[new(mark()) for _ in range(1)]
list(new(mark()) for _ in range(1))
list(map(lambda _: new(mark()), range(1)))
functools.reduce(lambda a, b: recursion(1), range(2))
sorted([1, 2], key=lambda _: new(mark()) or 0)
eval("new(mark())")
asyncio.run(coroutine())
thread = threading.Thread(target=in_a_thread)
thread.start()
thread.join()
called_back = ctypes.CFUNCTYPE(None)(function)
called_back()

# Code objects that are thrown away: the next one takes the last one's place.
for turn in range(40):
    cell(turn % 10, "\n" * (turn % 7) + "x = 1\n" + "new(mark())\n")
cell("named", "def inside():\n    new(mark())\n\n\ninside()\n")

# A line table that is longer than one field of a record may be.
cell("long", "def long(a):\n" + "    a = [a, a, a, a]; a = len(a)\n" * 4000 + "    new(mark())\n\n\nlong(1)\n")
