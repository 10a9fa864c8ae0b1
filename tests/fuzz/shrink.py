#!/usr/bin/env python3
"""Makes a small trace of a real one, for the fuzzer to start from: small chunks, the first records of each, and only
the Entry records that are named by --entries.

    tests/fuzz/shrink.py [--entries cuLaunchKernel,...] IN OUT     # layout.hpp and FORMAT.md say what stands where
"""

import argparse
import re
import socket
import struct
from pathlib import Path

HEADER = 128
COUNTERS = 16  # slots kept
CHUNK_HEADER = 64
CHUNK = 4096
EVENT, DICTIONARY, SUMMARY = 1, 2, 3
ENTRY = 64  # type of Entry records
MAX_EVENT_CHUNKS, MAX_SUMMARY_BYTES = 6, 1024


def number(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def records(body):
    at = 0
    while at < len(body):
        length, begin = number(body, at + 1)
        yield body[at], body[at:begin + length]
        at = begin + length


def pieces(body, kept):
    """The body's records in pieces that fill a small chunk. Only whole records, and the first piece alone where the
    later ones would need its differences."""
    piece = b""
    for kind, record in records(body):
        if kind == ENTRY and not any(name in record for name in kept):
            continue
        if len(piece) + len(record) > CHUNK - CHUNK_HEADER:
            yield piece
            piece = b""
        if len(record) <= CHUNK - CHUNK_HEADER:
            piece += record
    if piece:
        yield piece


def without_names(data):
    """Paths and the host's name hidden, at the same lengths: they are nobody's business, and a fuzzer that opens real
    objects for each input is slow."""
    host = socket.gethostname().encode()
    return re.sub(rb"/[\w.+/-]{3,}", lambda path: b"/" + b"x" * (len(path[0]) - 1), data).replace(host, b"h" * len(host))


def shrink(data, kept):
    header_bytes, chunk_size = struct.unpack_from("<II", data, 16)
    out = bytearray(data[:HEADER]) + bytearray(COUNTERS * 8)
    struct.pack_into("<IIII", out, 16, HEADER + COUNTERS * 8, CHUNK, HEADER, COUNTERS)
    chunks, events, sequences = [], 0, {}
    for at in range(header_bytes, len(data), chunk_size):
        head = bytearray(data[at:at + CHUNK_HEADER])
        if len(head) < CHUNK_HEADER or struct.unpack_from("<I", head)[0] == 0:
            continue
        kind, thread = head[4], struct.unpack_from("<I", head, 8)[0]
        body = data[at + CHUNK_HEADER:at + CHUNK_HEADER + struct.unpack_from("<I", head, 24)[0]]
        if kind == SUMMARY:
            parts = [body[:MAX_SUMMARY_BYTES]]
        elif kind == DICTIONARY:
            parts = list(pieces(body, kept))
        else:
            parts = list(pieces(body, kept))[:1]
            events += 1
        if kind == EVENT and events > MAX_EVENT_CHUNKS:
            continue
        for part in parts:
            sequence = sequences.get((kind, thread), 0)
            sequences[kind, thread] = sequence + 1
            struct.pack_into("<I", head, 12, sequence)
            struct.pack_into("<I", head, 24, len(part))
            head[5] = 0  # open: the checksum was of the whole
            chunks.append(bytes(head) + part + bytes(CHUNK - CHUNK_HEADER - len(part)))
    struct.pack_into("<I", out, 80, len(chunks))
    return bytes(out) + b"".join(chunks)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entries", default="", help="names of entry points, with commas")
    parser.add_argument("source", type=Path, metavar="IN")
    parser.add_argument("to", type=Path, metavar="OUT")
    options = parser.parse_args()
    kept = [name.encode() for name in options.entries.split(",") if name]
    options.to.write_bytes(without_names(shrink(options.source.read_bytes(), kept)))


main()
