"""`umadvisor export --perfetto` of traces that a GPU recorded: protoc knows every field, all that is used is defined, and what the trace
has is there."""

import json
import re
import subprocess
import tarfile
import tempfile
import unittest
import zlib
from pathlib import Path

from traces import ADVISOR, ROOT, of_gpus, record_coherent

REALTIME, OF_SEQUENCE = 1, 64
TEXTS = {"event_categories": "name", "event_names": "name", "debug_annotation_names": "name", "function_names": "str",
         "source_paths": "str", "debug_annotation_string_values": "str"}


def decoded(data):
    """Text format as lists of (key, value); numbers and enumerations stay text."""
    text = subprocess.run(["protoc", f"--proto_path={ROOT}/tests/process", "--decode=perfetto.protos.Trace", "perfetto_subset.proto"],
                          input=data, check=True, stdout=subprocess.PIPE).stdout.decode("ascii")
    top = []
    open_ones = [top]
    for line in text.splitlines():
        line = line.strip()
        if line == "}":
            open_ones.pop()
        elif line.endswith(" {"):
            inner = []
            open_ones[-1].append((line[:-2], inner))
            open_ones.append(inner)
        else:
            key, value = line.split(": ", 1)
            open_ones[-1].append((key, value))
    return top


def raw_bytes(quoted):
    """Of a text as protoc prints it."""
    simple = {"n": b"\n", "r": b"\r", "t": b"\t", '"': b'"', "'": b"'", "\\": b"\\"}
    return re.sub(rb"\\([0-7]{3}|.)", lambda found: bytes([int(found[1], 8)]) if len(found[1]) == 3 else simple[found[1].decode()],
                  quoted[1:-1].encode())


def one(message, key, default=None):
    found = [value for each, value in message if each == key]
    assert len(found) <= 1, (key, found)
    return found[0] if found else default


def every(message, key):
    return [value for each, value in message if each == key]


def packets_of(path):
    packets = []
    for key, packet in decoded(path.read_bytes()):
        assert key == "packet" and [each for each, _ in packet] == ["compressed_packets"], packet[:3]
        deflated = raw_bytes(packet[0][1])
        assert len(deflated) < 500_000 # what trace_packet.proto allows
        packets += [inner for _, inner in decoded(zlib.decompress(deflated))]
    return packets


class Sequence:
    def __init__(self):
        self.defined = set()
        self.clock = self.uuid = None


def check(case, packets):
    """Returns the tracks: uuid -> (descriptor, events)."""
    sequences, tracks, flows, ends = {}, {}, [], []
    for place, packet in enumerate(packets):
        case.assertFalse([key for key in keys(packet) if key.isdigit()], "fields that the format does not have")
        number = one(packet, "trusted_packet_sequence_id")
        flags = int(one(packet, "sequence_flags"))
        if number not in sequences:
            case.assertEqual(flags & 1, 1)
            case.assertEqual(one(packet, "first_packet_on_sequence"), "true")
            sequences[number] = Sequence()
        sequence = sequences[number]
        case.assertEqual(flags & 2, 2)
        if defaults := one(packet, "trace_packet_defaults"):
            case.assertEqual(one(defaults, "timestamp_clock_id"), str(OF_SEQUENCE))
            sequence.uuid = one(one(defaults, "track_event_defaults"), "track_uuid")
        if snapshot := one(packet, "clock_snapshot"):
            case.assertEqual(one(snapshot, "primary_trace_clock"), str(REALTIME))
            clocks = {int(one(clock, "clock_id")): clock for clock in every(snapshot, "clocks")}
            case.assertEqual(set(clocks), {REALTIME, OF_SEQUENCE})
            case.assertEqual(one(clocks[OF_SEQUENCE], "is_incremental"), "true")
            sequence.clock = int(one(clocks[REALTIME], "timestamp"))
        if track := one(packet, "track_descriptor"):
            uuid = one(track, "uuid")
            case.assertNotIn(uuid, tracks)
            case.assertEqual(uuid, sequence.uuid)
            parent = one(track, "parent_uuid")
            case.assertTrue(parent is None or parent in tracks, "a parent that is not described")
            tracks[uuid] = (track, [])
        for kind, message in one(packet, "interned_data", []):
            key = (kind, one(message, "iid"))
            case.assertNotIn(key, sequence.defined)
            sequence.defined.add(key)
            if kind in TEXTS:
                raw_bytes(one(message, TEXTS[kind])).decode() # UTF-8
        for kind, message in one(packet, "interned_data", []):
            needs = {"frames": [("function_names", "function_name_id"), ("source_paths", "source_path_iid")],
                     "callstacks": [("frames", "frame_ids")]}
            for of, key in needs.get(kind, []):
                for each in every(message, key):
                    case.assertIn((of, each), sequence.defined)
        if event := one(packet, "track_event"):
            case.assertIsNotNone(sequence.clock)
            sequence.clock += int(one(packet, "timestamp"))
            case.assertIn(sequence.uuid, tracks)
            tracks[sequence.uuid][1].append((sequence.clock, event))
            for of, key in [("event_names", "name_iid"), ("event_categories", "category_iids"), ("callstacks", "callstack_iid"),
                            ("source_locations", "source_location_iid")]:
                for each in every(event, key):
                    case.assertIn((of, each), sequence.defined)
            for argument in every(event, "debug_annotations"):
                case.assertIn(("debug_annotation_names", one(argument, "name_iid")), sequence.defined)
                if text := one(argument, "string_value_iid"):
                    case.assertIn(("debug_annotation_string_values", text), sequence.defined)
            flows += [(each, sequence.clock, place) for each in every(event, "flow_ids")]
            ends += [(each, sequence.clock, place) for each in every(event, "terminating_flow_ids")]
    for track, events in tracks.values():
        depth = 0
        for _, event in events:
            kind = one(event, "type")
            case.assertEqual(kind == "TYPE_COUNTER", one(track, "counter") is not None)
            depth += {"TYPE_SLICE_BEGIN": 1, "TYPE_SLICE_END": -1}.get(kind, 0)
            case.assertGreaterEqual(depth, 0)
        case.assertEqual(depth, 0)
    # A number may be given again once its flow has ended. Perfetto takes events of one time in the file's order.
    times = {}
    for order, list_of in enumerate((flows, ends)):
        for flow, time, place in list_of:
            times.setdefault(flow, []).append((time, place, order))
    for each in times.values():
        each.sort()
        case.assertEqual([order for _, _, order in each], [0, 1] * (len(each) // 2), "a flow that begins or ends twice")
    return tracks


def keys(message):
    for key, value in message:
        yield key
        if isinstance(value, list):
            yield from keys(value)


def name_of(track):
    thread, process = one(track, "thread", []), one(track, "process", [])
    return raw_bytes(one(track, "name") or one(thread, "thread_name") or one(process, "process_name")).decode()


class Perfetto(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.traces = of_gpus(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def export(self, *traces):
        output = Path(self.folder.name, "out.pftrace")
        subprocess.run([ADVISOR, "export", "--perfetto", "-f", "-o", output, *traces], check=True, stderr=subprocess.DEVNULL)
        return check(self, packets_of(output))

    def test_what_a_trace_has_is_there(self):
        for trace in self.traces:
            with self.subTest(trace=trace.name):
                tracks = self.export(trace)
                text = subprocess.run([ADVISOR, "dump", "--json", trace], check=True, stdout=subprocess.PIPE).stdout.decode()
                events = [json.loads(line) for line in text.splitlines()]
                calls = [event for event in events if "entry" in event and "status" in event and event.get("part", 0) == 0
                         and event.get("batch", 0) <= 1]
                begun = {True: 0, False: 0}
                for track, of_track in tracks.values():
                    kinds = [one(event, "type") for _, event in of_track]
                    begun[one(track, "thread") is not None] += kinds.count("TYPE_SLICE_BEGIN")
                self.assertTrue(calls)
                self.assertEqual(begun[True], len(calls))
                launches = sum(event["record"] in ("Launch", "GraphLaunch") and event["status"] == 0 and event["captured"] == 0
                               for event in events)
                self.assertGreaterEqual(begun[False], launches)
                begin = next(event["realtime_ns"] for event in events if event["record"] == "Header")
                starts = [begin + max(0, event["start_ns"]) for event in calls]
                told = sorted(at for track, of_track in tracks.values() if one(track, "thread") is not None
                              for at, event in of_track if one(event, "type") == "TYPE_SLICE_BEGIN")
                off = [abs(one_start - other) for one_start, other in zip(sorted(starts), told)]
                self.assertLess(sum(each > 1000 for each in off), len(off) / 100 + 1)

    def test_findings_are_those_of_the_report(self):
        for trace in [*self.traces, record_coherent(Path(self.folder.name, "coherent.umtrace"))]:
            report = json.loads(subprocess.run([ADVISOR, "report", "--json", trace], check=True, stdout=subprocess.PIPE,
                                               stderr=subprocess.DEVNULL).stdout)
            told = [len(events) for track, events in self.export(trace).values() if name_of(track) == "findings"]
            self.assertEqual(sum(told), len(report["findings"]) + len(report.get("unpriced", [])))
        self.assertEqual(sum(told), 1)

    def test_all_traces_are_one_timeline(self):
        tracks = self.export(*self.traces)
        processes = [one(track, "process") for track, _ in tracks.values() if one(track, "process")]
        self.assertEqual(len({one(process, "pid") for process in processes}), len(self.traces))
        threads = [one(one(track, "thread"), "tid") for track, _ in tracks.values() if one(track, "thread")]
        self.assertEqual(len(set(threads)), len(threads))

    def test_an_archive_has_a_timeline_for_each_host(self):
        by_host = {}
        for trace in self.traces:
            report = json.loads(subprocess.run([ADVISOR, "report", "--json", trace], check=True, stdout=subprocess.PIPE,
                                               stderr=subprocess.DEVNULL).stdout)
            by_host.setdefault(report["process"]["host"], []).append(report["process"]["pid"])
        self.assertGreaterEqual(len(by_host), 2)
        output = Path(self.folder.name, "out.tar")
        subprocess.run([ADVISOR, "export", "--perfetto", "-f", "-o", output, *self.traces], check=True, stderr=subprocess.DEVNULL)
        with tarfile.open(output) as archive:
            members = {each.name: archive.extractfile(each).read() for each in archive.getmembers()}
        manifest = json.loads(members.pop("perfetto_manifest.json"))["perfetto_manifest"]
        self.assertEqual(manifest["version"], 1)
        self.assertEqual(set(members), {each["path"] for each in manifest["files"]})
        self.assertEqual(manifest["trace_time"], {"clock": "REALTIME", "file": manifest["files"][0]["path"]})
        self.assertEqual({each["machine"]["name"] for each in manifest["files"]}, set(by_host))
        for entry in manifest["files"]:
            one_file = Path(self.folder.name, entry["path"])
            one_file.write_bytes(members[entry["path"]])
            tracks = check(self, packets_of(one_file))
            pids = [int(one(one(track, "process"), "pid")) for track, _ in tracks.values() if one(track, "process")]
            expected = by_host[entry["machine"]["name"]]
            self.assertEqual(len(pids), len(expected))
            if len(expected) == 1:  # whatever other hosts have
                self.assertEqual(pids, expected)

    def test_the_same_traces_make_the_same_file(self):
        outputs = []
        for name in ("one", "two"):
            outputs.append(Path(self.folder.name, name))
            subprocess.run([ADVISOR, "export", "--perfetto", "-f", "-o", outputs[-1], self.traces[0]], check=True,
                           stderr=subprocess.DEVNULL)
        self.assertEqual(outputs[0].read_bytes(), outputs[1].read_bytes())


if __name__ == "__main__":
    unittest.main()
