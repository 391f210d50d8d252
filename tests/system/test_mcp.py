#!/usr/bin/env python3
"""cpuperf_print --serve --stdio: a dialogue of the Model Context Protocol with a kept session. Its answers are those of
reports; hostile lines are errors, and end nothing."""
import json
import os
import subprocess

from kit import PRINT, run_checks

SESSIONS = f"{os.environ['SOURCE_DIR']}/tests/data/sessions"


class Server:
    def __init__(self, *options, session="samples", status=0):
        self.status = status
        self.p = subprocess.Popen([PRINT, "--quiet=2", f"--session={session}.cpsession", "--sysroot=root", "--serve", "--stdio",
                                   *options], cwd=SESSIONS, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.nr = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.p.stdin.close()
        assert self.p.stdout.read() == b"" and self.p.wait(timeout=600) == self.status, self.p.returncode

    def send(self, line):
        self.p.stdin.write(line + b"\n")
        self.p.stdin.flush()

    def line(self, line):
        """The answer to any line."""
        self.send(line)
        return json.loads(self.p.stdout.readline())

    def ask(self, method, **params):
        self.nr += 1
        got = self.line(json.dumps({"jsonrpc": "2.0", "id": self.nr, "method": method, "params": params}).encode())
        assert got["jsonrpc"] == "2.0" and got["id"] == self.nr, got
        return got

    def call(self, tool, **arguments):
        got = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        return [c["text"] for c in got["content"]], got["isError"]


def printed(*options):
    return subprocess.run([PRINT, "--quiet=2", "--session=samples.cpsession", "--sysroot=root", *options,
                           "--output-format=ndjson"], cwd=SESSIONS, check=False, capture_output=True, timeout=600,
                          stdin=subprocess.DEVNULL).stdout.decode()


def check_dialogue(_folder):
    with Server() as s:
        first = s.ask("initialize", protocolVersion="2025-03-26", capabilities={}, clientInfo={"name": "x", "version": "1"})
        assert first["result"]["protocolVersion"] == "2025-03-26" and "tools" in first["result"]["capabilities"], first
        assert s.ask("initialize", protocolVersion="1999")["result"]["protocolVersion"] == "2025-06-18"
        s.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        tools = {t["name"]: t for t in s.ask("tools/list")["result"]["tools"]}
        # those that this session has data for
        assert set(tools) == {"session", "functions", "callers", "code", "report"}, tools.keys()
        assert tools["code"]["inputSchema"]["required"] == ["function"]
        assert "top" in tools["functions"]["inputSchema"]["properties"]
        (text,), failed = s.call("session")
        assert not failed and json.loads(text)["reports"], text
        (text, columns), failed = s.call("functions")
        assert not failed and text == printed("--report=flat", "--top=20"), text
        assert ["self", "share"] in json.loads(columns)["columns"], columns
        texts, failed = s.call("functions", top=1, event="cpu_*")
        assert not failed and texts[0] == printed("--report=flat", "--top=1", "--event=cpu_*"), texts
        texts, failed = s.call("code", function="work_a", top=0)
        assert not failed and texts[0] == printed("--report=annotate", "--function=work_a", "--top=0"), texts
        texts, failed = s.call("report", report="threads")
        assert not failed and texts[0] == printed("--report=threads", "--top=20"), texts
        assert s.call("functions", event="cpu_clock", comm="nobody")[0] == [
            "no rows: the sessions have no such data, or arguments exclude all of it", *s.call("functions")[0][1:]]


def check_other_sessions(_folder):
    """Tools follow the sessions; one that is not listed says why. killed has damage, so the exit status is 1."""
    with Server("--diff=killed.cpsession", status=1) as s:
        assert "diff" in {t["name"] for t in s.ask("tools/list")["result"]["tools"]}
        texts, failed = s.call("diff", top=0)
        assert not failed and texts[0] == printed("--report=diff", "--diff=killed.cpsession", "--top=0"), texts
    with Server(session="stacks") as s:
        assert "callers" in {t["name"] for t in s.ask("tools/list")["result"]["tools"]}
        texts, failed = s.call("callers", function="*", top=1)
        assert not failed and json.loads(texts[0].splitlines()[0])["report"] == "calls", texts
        texts, failed = s.call("diff")
        assert failed and "nothing to compare with" in texts[0], texts


def check_hostile(_folder):
    """Nothing ends the server, reads another file or writes one."""
    deep = b"[" * 100000
    with Server() as s:
        for line in (b"", b"\0", b"\xff\xfe", b"{", b"[]", b"{}", b"null", deep, b"x" * 300000, b'{"jsonrpc":"2.0","id":{}}',
                     b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}', b'{"jsonrpc":"2.0","id":1,"method":1}'):
            if line:
                got = s.line(line)
                assert -32768 <= got["error"]["code"] <= -32000 and got["error"]["message"], (line[:50], got)
            else:
                s.send(line)
        for arguments in ({"report": "../flat"}, {"report": "nothing"}, {"report": "flat", "output-file": "x"},
                          {"report": "flat", "session": "/etc/passwd"}, {"report": "flat", "kallsyms": "/etc/passwd"},
                          {"report": "flat", "push": "http://127.0.0.1"}, {"report": "flat", "sysroot": "/"},
                          {"report": "flat", "from": "x"}, {"report": "flat", "top": -1}, {"report": "flat", "top": 1e300},
                          {"report": "flat", "event": "no_such_event"}):
            texts, failed = s.call("report", **arguments)
            assert failed and texts[0], (arguments, texts)
        assert s.call("functions")[0][0] == printed("--report=flat", "--top=20")


def check_usage(_folder):
    for options in (["--stdio"], ["--serve=0", "--stdio"], ["--serve", "--stdio", "--report=flat"]):
        done = subprocess.run([PRINT, "--session=samples.cpsession", *options], cwd=SESSIONS, check=False, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=600)
        assert done.returncode == 2 and not done.stdout, (options, done)


run_checks(globals())
