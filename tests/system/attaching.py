"""What is seen of an agent in a process that ran before: its entries, and why it is not there yet."""
import os
import re
import struct
import subprocess

CANNOT_YET = "no thread was where"


def got_entries(pid, functions):
    """What the entries hold by which its objects call these functions ("read|write"), by object, offset and function."""
    bases, found = {}, {}
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        for line in maps:
            fields = line.split()
            if len(fields) == 6 and fields[5].startswith("/") and int(fields[2], 16) == 0:
                bases.setdefault(fields[5], int(fields[0].split("-")[0], 16))
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for path, base in bases.items():
            if "libcpuperf" in path or "/ld-" in path or os.path.getsize(path) < 64:
                continue
            text = subprocess.run(["readelf", "-rW", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                  check=False).stdout
            for m in re.finditer(rf"^([0-9a-f]{{12,16}})\s+\S+\s+R_\w+\s+\S+\s+({functions})@", text, re.M):
                memory.seek(base + int(m[1], 16))
                found[path, int(m[1], 16), m[2]] = struct.unpack("Q", memory.read(8))[0]
    return found
