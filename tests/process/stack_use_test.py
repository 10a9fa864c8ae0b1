"""How much of the program's stack a wrapper takes, read from the machine code of the shim: what the driver is left with."""

import collections
import os
import re
import subprocess
import unittest
from pathlib import Path

SHIM = Path(os.environ["UMADVISOR_BUILD"]).resolve() / "lib/libumadvisor.so"
MOST_OF_A_WRAPPER = 2048  # bytes; it stands below whatever the driver needs
MOST_OF_ALL = 4096  # with what it and the actions call before and after the driver: a thread may have 16 KiB

FUNCTION = re.compile(r"[0-9a-f]+ <(.+)>:$")
INSTRUCTION = re.compile(r"\s+[0-9a-f]+:\s+(\S+)\s*(.*)$")
DOWN = re.compile(r"\$0x([0-9a-f]+),%rsp$")
TO = re.compile(r"[0-9a-f]+ <([^+>]+)>$")  # begins a function: a jump to it is a call of its own


def read(code):
    """Bytes of each function's own frame, and which functions it calls directly, with the bytes that the call takes."""
    frames, calls, name = {}, collections.defaultdict(set), None
    for line in code.splitlines():
        if found := FUNCTION.match(line):
            name = found[1]
            frames[name] = 0
        elif name is not None and (found := INSTRUCTION.match(line)):
            what, on = found.groups()
            if what == "push":
                frames[name] += 8
            elif what in ("sub", "add") and (down := DOWN.match(on)):
                bytes = int(down[1], 16)
                bytes -= (bytes >> 63) << 64
                frames[name] += max(bytes if what == "sub" else -bytes if bytes < 0 else 0, 0)
            elif what in ("call", "jmp") and (to := TO.match(on)):
                calls[name].add((to[1], 8 if what == "call" else 0))
    return frames, calls


class StackUse(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", SHIM], capture_output=True, text=True, check=True)
        cls.frames, cls.calls = read(code.stdout)
        cls.depths = {}
        cls.wrappers = [name for name in cls.frames if "wrappers4Hook" in name]

    def depth(self, name, above=()):
        """Of the deepest way down from a function, as far as calls are direct: not into the driver or libc."""
        if name in above or name not in self.frames:
            return 0
        if name not in self.depths:
            below = (self.depth(callee, (*above, name)) + bytes for callee, bytes in self.calls[name])
            self.depths[name] = self.frames[name] + max(below, default=0)
        return self.depths[name]

    def deepest(self, name):
        way = []
        while name in self.frames and name not in way:
            way.append(name)
            name = max((callee for callee, _ in self.calls[name]), key=self.depth, default=None)
        return "\n".join(f"{self.frames[each]:6} {each[:150]}" for each in way)

    def test_a_wrapper_leaves_the_stack_to_the_driver(self):
        self.assertGreater(len(self.wrappers), 300)
        for name in self.wrappers:
            self.assertLess(self.frames[name], MOST_OF_A_WRAPPER, name)

    def test_with_what_it_calls_it_fits_the_smallest_stacks(self):
        wrapper = max(self.wrappers, key=self.depth)
        # Wrappers call actions through the list of actions.
        action = max((name for name in self.frames if "umadvisor3act" in name), key=self.depth)
        below = max(self.frames[name] for name in self.wrappers) + self.depth(action)
        print("stack.bytes.max", max(self.depth(wrapper), below))
        self.assertLess(self.depth(wrapper), MOST_OF_ALL, "\n" + self.deepest(wrapper))
        self.assertLess(below, MOST_OF_ALL, "\n" + self.deepest(action))


if __name__ == "__main__":
    unittest.main()
