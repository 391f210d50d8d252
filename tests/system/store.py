"""What tests of stores share, and scripts/bench-store: DuckDB over a store, and sessions as of other hosts."""
import collections
import glob
import json
import os
import re
import shutil
import struct
import subprocess

import sampled

SOURCE = os.environ.get("SOURCE_DIR") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CACHE = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
NPM = f"{CACHE}/cpuperf/npm"
RUNNER = f"{SOURCE}/tests/system/store.mjs"
CLOCKS = 3  # the frame's kind

Result = collections.namedtuple("Result", "columns types rows ms")


def missing():
    """Why there is no DuckDB here; None: there is."""
    if not shutil.which("node"):
        return "node is not installed"
    if not os.path.isdir(f"{NPM}/node_modules/@duckdb"):
        return "scripts/deps test has not fetched the npm packages of tests/npm"
    return None


_runner = []  # started once: its start costs as much as twenty queries


def node(request):
    if not _runner:
        _runner.append(subprocess.Popen(["node", RUNNER, NPM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    print(json.dumps(request), file=_runner[0].stdin, flush=True)
    answer = json.loads(_runner[0].stdout.readline() or '{"error": "it ended"}')
    assert isinstance(answer, list), (request, answer["error"])
    return answer


def views(folder):
    """The statements of schemas/store.md, for each table of the store."""
    return [f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{folder}/{name}/*/*/*.parquet',"
            " hive_partitioning = true, hive_types = {'day': DATE, 'host': VARCHAR})"
            for name in sorted(os.listdir(folder))]


def query(folder, *sql):
    """The results of statements, by DuckDB."""
    return [Result(r["columns"], r["types"], r["rows"], r["ms"])
            for r in node({"setup": views(folder), "queries": sql})]


def rows(folder, sql):
    return query(folder, sql)[0].rows


def examples():
    """Name: SQL, of schemas/store-queries.sql."""
    with open(f"{SOURCE}/schemas/store-queries.sql", encoding="utf-8") as f:
        parts = re.split(r"^-- name: (\w+)\n", f.read(), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def files(folder, table="*"):
    return sorted(glob.glob(f"{folder}/{table}/day=*/host=*/*.parquet"))


def arrow_rows(paths):
    return node({"files": paths})


def move(prefix, to, host, number, shift_s=0):
    """A copy of a session's files, PREFIX.*, as if another host had recorded it, so much later. Its id is made of the
    number."""
    os.mkdir(to)
    session = struct.pack("<QQ", 0x5e55, number)
    for path in glob.glob(f"{prefix}.*"):
        if not re.search(r"\.(cpuperf|cpsession)$", path):
            continue
        with open(path, "rb") as f:
            data = bytearray(f.read())
        if path.endswith(".cpsession"):
            manifest = {**json.loads(data), "session_id": session.hex()}
            data = json.dumps(manifest).encode()
        else:
            move_trace(data, session, host, shift_s)
        with open(f"{to}/{os.path.basename(path)}", "wb") as f:
            f.write(data)
    return to


def move_trace(data, session, host, shift_s):
    data[24:40] = session
    data[72:136] = host.encode()[:63].ljust(64, b"\0")
    struct.pack_into("<I", data, 188, sampled.crc32c(data[:188]))
    at = 192
    while at + 16 <= len(data):
        kind, _, length = struct.unpack_from("<HHI", data, at + 4)
        if kind == CLOCKS:
            realtime, = struct.unpack_from("<Q", data, at + 32)
            struct.pack_into("<Q", data, at + 32, realtime + shift_s * 10**9)
            struct.pack_into("<I", data, at + 12, sampled.crc32c(data[at + 4:at + 12] + data[at + 16:at + 16 + length]))
        at += 16 + (length + 7) // 8 * 8
