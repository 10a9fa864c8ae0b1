"""The socket through which clients reach a program under the shim: what it answers, and that the program does not notice."""

import json
import os
import platform
import re
import signal
import socket
import stat
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from traces import BUILD, ROOT, environment

PROGRAM = BUILD / "bin/test-programs/reached"
KEPT = BUILD / "bin/test-programs/kept_memory"
SHIM = BUILD / "lib/libumadvisor.so"


def bare_environment(**more):
    return {name: text for name, text in environment(**more).items() if name not in ("UMADVISOR_BUILD", "UMADVISOR_CUDA_INCLUDE")}


class Client:
    def __init__(self, address):
        self.socket = socket.socket(socket.AF_UNIX)
        try:
            self.socket.connect(str(address))  # waits while others are not accepted yet
        except OSError:
            self.socket.close()
            raise
        self.socket.settimeout(20)
        self.file = self.socket.makefile("rb")

    def send(self, raw):
        self.socket.sendall(raw)

    def answer(self):
        line = self.file.readline()
        return json.loads(line) if line else None

    def ask(self, *words):
        """None: the other end is gone. What it said before can be read."""
        try:
            self.send("\t".join(words).encode() + b"\n")
        except ConnectionError:
            pass
        try:
            return self.answer()
        except ConnectionError:
            return None

    def close(self):
        self.file.close()
        self.socket.close()


class Control(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="uma")
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name).resolve()

    def start(self, mode, *arguments, program=PROGRAM, **settings):
        settings = {"UMADVISOR_CONTROL": str(self.folder), "UMADVISOR_OUTPUT": str(self.folder / "t.umtrace"), **settings}
        variables = bare_environment(LD_PRELOAD=str(SHIM), UMADVISOR_FORCE="1", **settings)
        program = subprocess.Popen([program, mode, *arguments], cwd=self.folder, env=variables, text=True, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.kill, program)
        self.assertEqual(program.stdout.readline(), "ready\n")
        return program

    def kill(self, program):
        program.kill()
        program.communicate()

    def address(self, program):
        return self.folder / str(program.pid)

    def connect(self, program, address=None):
        client = Client(address or self.address(program))
        self.addCleanup(client.close)
        return client

    def finish(self, program, printed="done\n"):
        """Ends the program, which must print what it prints without umadvisor, and end by itself."""
        out, err = program.communicate(timeout=30)
        self.assertEqual((out, program.returncode), (printed, 0), err)
        self.assertRegex(err, r"\Aumadvisor: wrote \S+t.umtrace; [^\n]*\n\Z")

    def test_status_says_what_the_process_does(self):
        program = self.start("idle")
        status = self.connect(program).ask("status")
        self.assertEqual((status["ok"], status["protocol"], status["pid"], status["program"]), (True, 1, program.pid, "reached"))
        self.assertEqual((status["mode"], status["recording"], status["watched"], status["trigger"]), ("record", True, False, ""))
        modes = re.findall(r'^MODE\((\w+),', (ROOT / "trace/act.def").read_text(), re.M)
        self.assertEqual([mode["mode"] for mode in status["act"]], modes)
        self.assertFalse(any(mode["on"] for mode in status["act"]))
        self.assertTrue(stat.S_ISSOCK(self.address(program).lstat().st_mode))
        self.assertEqual(stat.S_IMODE(self.address(program).lstat().st_mode), 0o600)
        self.finish(program)
        self.assertFalse(self.address(program).exists())

    def test_kept_memory_is_given_back_to_a_process_that_has_none(self):
        holding = self.start("hold", program=KEPT, UMADVISOR_ACT="reuse", UMADVISOR_OUTPUT=str(self.folder / "h.umtrace"))
        client = self.connect(holding)
        self.assertEqual(client.ask("status")["kept_device_bytes"], (2 << 20) + 512)  # and the block of the waits
        full = subprocess.run([KEPT, "full"], cwd=self.folder, text=True, capture_output=True, timeout=30,
                              env=bare_environment(LD_PRELOAD=str(SHIM), UMADVISOR_FORCE="1", UMADVISOR_CONTROL=str(self.folder),
                                                   UMADVISOR_OUTPUT=str(self.folder / "f.umtrace"), SIMCUDA_CONFIG="capacity=64M"))
        self.assertEqual(full.returncode, 0, full.stderr)
        self.assertEqual(client.ask("status")["kept_device_bytes"], 0)
        self.assertEqual(client.ask("give_back"), {"ok": True, "given_back": False})
        self.assertEqual(holding.communicate(timeout=30)[0], "2097152 bytes from 0\nworks 1\nfree 8587837440 of 8589934592\nfree 0\n"
                                                             "free 8589934592 of 8589934592\n")

    def test_counters_grow_while_a_client_asks_for_them(self):
        program = self.start("work")
        client = self.connect(program)
        first = client.ask("counters")
        self.assertTrue(self.connect(program).ask("status")["watched"])
        time.sleep(0.5)
        second = client.ask("counters")
        rounds = second["copies"]["h2d"]["calls"] - first["copies"]["h2d"]["calls"]
        self.assertGreater(rounds, 3)
        for way in "h2d", "d2h":
            grown = {key: second["copies"][way][key] - first["copies"][way][key] for key in second["copies"][way]}
            self.assertAlmostEqual(grown["calls"], rounds, delta=1)
            self.assertEqual(grown["bytes"], grown["calls"] << 20)
            self.assertEqual(grown["pageable_bytes"], grown["bytes"])
        # Each launch counts, also those that threads remember.
        self.assertAlmostEqual(second["launches"] - first["launches"], 2 * rounds, delta=2)
        self.assertAlmostEqual(second["waits"]["calls"] - first["waits"]["calls"], rounds, delta=1)
        self.assertGreater(second["calls_ns"], first["calls_ns"])
        self.assertGreater(second["watched_ns"] - first["watched_ns"], 400_000_000)
        self.assertGreaterEqual(second["memory"]["device_bytes"], 1 << 20)
        self.assertEqual(second["memory"]["managed_bytes"], 4096)
        client.close()
        for _ in range(100):
            if not (status := self.connect(program).ask("status"))["watched"]:
                break
        self.assertFalse(status["watched"])
        again = self.connect(program).ask("counters")
        self.assertLess(again["watched_ns"] - second["watched_ns"], 400_000_000)
        self.finish(program)

    def test_requests_that_are_not_understood_are_refused(self):
        program = self.start("work")
        client = self.connect(program)
        for number in range(1000):
            raw = (b"", b"\t", b"stat", b"status\tx=1", b"mark", b"start\tfor=x", b"start\toutput=x", b"act\tmode=no\ton=1",
                   b"act\tmode=stage\ton=2", b"mark\ttext=a\x01b", b"\xff\xfe", b"mark\tx", b"mark\t=x", b"a=b\t" * 50,
                   b"start\tfor=1\tfor=2", b"\x00")[number % 16]
            client.send(raw + b"\n")
            answer = client.answer()
            self.assertIs(answer["ok"], False, raw)
            self.assertRegex(answer["error"], r"[^.]\Z")
        self.assertTrue(client.ask("status")["ok"])
        # All at once, and answers that are read later.
        client.send(b"x\n" * 500)
        self.assertEqual([client.answer()["ok"] for _ in range(500)], [False] * 500)
        self.finish(program)

    def test_a_line_that_is_too_long_ends_the_connection(self):
        program = self.start("work")
        longest = self.connect(program)
        self.assertIs(longest.ask("mark", "text=" + "x" * (8192 - 11))["ok"] in (True, False), True)
        client = self.connect(program)
        self.assertIsNone(client.ask("mark", "text=" + "x" * 20_000))
        self.assertTrue(self.connect(program).ask("status")["ok"])
        self.finish(program)

    def test_clients_may_end_at_any_moment(self):
        program = self.start("work")
        for number in range(200):
            client = Client(self.address(program))
            client.send((b"stat", b"counters\n", b"status\n" * 20, b"")[number % 4])
            if number % 3 == 0:
                client.socket.shutdown(socket.SHUT_RDWR)
            client.close()
        for _ in range(20):
            killed = os.fork()
            if killed == 0:
                client = Client(self.address(program))
                client.send(b"counters\ncounters\nsta")
                os.kill(os.getpid(), signal.SIGKILL)
            os.waitpid(killed, 0)
        self.assertTrue(self.connect(program).ask("status")["ok"])
        self.finish(program)

    def test_no_more_clients_than_it_serves(self):
        program = self.start("work")
        clients = []
        refused = 0
        for _ in range(40):
            clients.append(self.connect(program))
            refused += clients[-1].ask("status").get("error") == "too many clients"
        self.assertEqual(refused, 24)
        for client in clients:
            client.close()
        for _ in range(100):
            if (answer := self.connect(program).ask("status"))["ok"]:
                break
        self.assertTrue(answer["ok"])
        self.finish(program)

    def test_a_client_that_does_not_read_is_left(self):
        program = self.start("work")
        client = self.connect(program)
        with self.assertRaises(ConnectionError):
            for _ in range(10_000):
                client.send(b"counters\n" * 100)
        self.assertTrue(self.connect(program).ask("status")["ok"])
        self.finish(program)

    def test_an_idle_process_sleeps(self):
        program = self.start("idle")
        client = self.connect(program)
        self.assertTrue(client.ask("status")["ok"])
        time.sleep(0.2)
        threads = [thread for thread in Path(f"/proc/{program.pid}/task").iterdir() if (thread / "comm").read_text() == "umadvisor-ctl\n"]
        self.assertEqual(len(threads), 1)

        # poll(2) without an end; aarch64 has ppoll(2) alone, whose time is behind a pointer.
        endless = "0x0" if platform.machine() == "aarch64" else "0xffffffff"
        for _ in range(20):
            waits = (threads[0] / "syscall").read_text().split()
            self.assertEqual((waits[2], waits[3]), ("0x13", endless))
            time.sleep(0.05)
        self.finish(program)

    def test_descriptors_that_the_program_closes(self):
        program = self.start("close")
        lost = self.connect(program)
        self.assertTrue(lost.ask("status")["ok"])
        program.stdin.write("go\n")
        program.stdin.flush()
        self.assertEqual(program.stdout.readline(), "closed\n")
        self.assertIsNone(lost.ask("status"))
        time.sleep(0.2)
        self.assertTrue(self.connect(program).ask("status")["ok"])  # it listens again
        self.finish(program)

    def test_numbers_that_belong_to_the_program(self):
        program = self.start("hold", "held")
        lost = self.connect(program)
        self.assertTrue(lost.ask("counters")["ok"])
        program.stdin.write("go\n")
        program.stdin.flush()
        self.assertEqual(program.stdout.readline(), "closed\n")
        for _ in range(5):
            try:
                self.connect(program).ask("status")
            except OSError:  # it may have lost its descriptors too often, and has withdrawn then
                pass
        self.assertEqual(program.communicate(timeout=30)[0], "done\n")
        self.assertEqual(program.returncode, 0)
        self.assertEqual((self.folder / "held").stat().st_size, 0)

    def test_a_forked_child_is_not_reached(self):
        program = self.start("fork")
        client = self.connect(program)
        self.assertTrue(client.ask("status")["ok"])
        program.stdin.write("go\n")
        program.stdin.flush()
        program.wait(30)  # the child lives on
        self.assertIsNone(client.ask("status"))
        self.assertFalse(self.address(program).exists())

    def test_a_program_ends_with_its_last_thread(self):
        for mode in "last", "other":
            program = self.start(mode)
            begun = time.monotonic()
            self.finish(program, "")
            self.assertLess(time.monotonic() - begun, 3)

    def runtime_folder(self):
        runtime = self.folder / "run"
        runtime.mkdir(mode=0o700)
        return runtime

    def test_the_folder_is_made_in_that_of_the_session(self):
        runtime = self.runtime_folder()
        program = self.start("idle", UMADVISOR_CONTROL="", XDG_RUNTIME_DIR=str(runtime))
        self.assertEqual(stat.S_IMODE((runtime / "umadvisor").stat().st_mode), 0o700)
        self.assertTrue(self.connect(program, runtime / "umadvisor" / str(program.pid)).ask("status")["ok"])
        self.finish(program)

    def test_a_name_without_a_file(self):
        for runtime in "", "/nowhere":
            program = self.start("idle", UMADVISOR_CONTROL="", XDG_RUNTIME_DIR=runtime)
            self.assertTrue(self.connect(program, f"\0umadvisor/{os.geteuid()}/{program.pid}").ask("status")["ok"])
            self.finish(program)

    def refused(self, why, mode="idle", **settings):
        program = self.start(mode, **settings)
        self.assertFalse(any((thread / "comm").read_text() == "umadvisor-ctl\n"
                             for thread in Path(f"/proc/{program.pid}/task").iterdir()))
        out, err = program.communicate(timeout=30)
        self.assertEqual((out, program.returncode), ("done\n", 0))
        lines = err.splitlines()
        self.assertEqual(len(lines), 2, err)
        self.assertIn(why, lines[0])

    def test_folders_that_are_not_trusted(self):
        runtime = self.runtime_folder()
        (self.folder / "elsewhere").mkdir(mode=0o700)
        (runtime / "umadvisor").symlink_to(self.folder / "elsewhere")
        self.refused("symbolic link", UMADVISOR_CONTROL="", XDG_RUNTIME_DIR=str(runtime))
        self.assertEqual(list((self.folder / "elsewhere").iterdir()), [])
        (runtime / "umadvisor").unlink()
        (runtime / "umadvisor").mkdir()
        (runtime / "umadvisor").chmod(0o755)
        self.refused("others may write", UMADVISOR_CONTROL="", XDG_RUNTIME_DIR=str(runtime))
        (runtime / "umadvisor").rmdir()
        (runtime / "umadvisor").touch()
        self.refused("no folder", UMADVISOR_CONTROL="", XDG_RUNTIME_DIR=str(runtime))
        self.refused("absolute path", UMADVISOR_CONTROL="relative")
        self.refused("does not exist", UMADVISOR_CONTROL="/nowhere")
        self.refused("too long", UMADVISOR_CONTROL="/" + "x" * 120)

    def start_in(self, pid_file, **settings):
        """Starts the program under a pid that is known before: `pid_file` puts something there first."""
        script = f'{pid_file}; exec "$0" "$@"'
        variables = bare_environment(UMADVISOR_CONTROL=str(self.folder), UMADVISOR_OUTPUT=str(self.folder / "t.umtrace"),
                                UMADVISOR_FORCE="1", SHIM=str(SHIM), **settings)
        program = subprocess.Popen(["bash", "-c", script, "env", f"LD_PRELOAD={SHIM}", PROGRAM, "idle"], cwd=self.folder,
                                   env=variables, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.kill, program)
        self.assertEqual(program.stdout.readline(), "ready\n")
        return program

    def test_a_file_in_the_way_stays(self):
        program = self.start_in("echo precious > $$")
        out, err = program.communicate(timeout=30)
        self.assertEqual((out, program.returncode), ("done\n", 0))
        self.assertIn("a file is in the way", err)
        self.assertEqual(self.address(program).read_text(), "precious\n")

    def test_a_socket_of_a_dead_process_is_replaced(self):
        listen = "import os,socket; socket.socket(socket.AF_UNIX).bind(str(os.getppid()))"
        program = self.start_in(f'/usr/bin/python3 -c "{listen}"')
        self.assertTrue(self.connect(program).ask("status")["ok"])
        self.finish(program)

    def test_no_socket_where_none_is_wanted(self):
        program = self.start("idle", UMADVISOR_CONTROL="0", XDG_RUNTIME_DIR=str(self.runtime_folder()))
        self.assertFalse((self.folder / "run/umadvisor").exists())
        self.assertFalse(any((thread / "comm").read_text() == "umadvisor-ctl\n"
                             for thread in Path(f"/proc/{program.pid}/task").iterdir()))
        self.finish(program)

    def test_modes_are_switched(self):
        program = self.start("work")
        client = self.connect(program)
        refused = client.ask("act", "mode=rewrite=all", "on=1")
        self.assertEqual((refused["ok"], "when the program is started" in refused["error"]), (False, True))
        self.assertTrue(client.ask("act", "mode=prefetch", "on=1")["ok"])
        self.assertEqual([mode["mode"] for mode in client.ask("status")["act"] if mode["on"]], ["prefetch"])
        before = client.ask("counters")["act"]["actions"]
        time.sleep(0.5)
        self.assertGreaterEqual(client.ask("counters")["act"]["actions"], before)
        self.assertTrue(client.ask("act", "mode=prefetch", "on=0")["ok"])
        self.assertFalse(any(mode["on"] for mode in client.ask("status")["act"]))
        self.finish(program)


if __name__ == "__main__":
    unittest.main()
