#!/usr/bin/env python3
"""cpuperf_print --serve: what it answers is what cpuperf_print prints of the same session; whoever has no token, another
site's page, and readers that are wrong, slow or many get nothing and disturb nobody; and the page, in a real browser.
CPUPERF and CPUPERF_PRINT name the programs.
"""
import contextlib
import csv
import functools
import glob
import http.client
import itertools
import json
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.parse

import browser
import pages
import perf_data_file as pd
from kit import CPUPERF, PRINT, finish, output, programs_missing, run, run_checks, skip, stride
from patience import PATIENCE_S

MIX = os.environ["MIX"]
SOURCE = os.environ["SOURCE_DIR"]
POLICY = ("default-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'")


class Server:
    """with Server(folder, options…) as s: s.get(path)."""

    def __init__(self, folder, *options, address="", session="session"):
        self.p = subprocess.Popen([PRINT, "--quiet", f"{folder}/{session}", f"--serve{address}", *options],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)
        self.url = self.p.stdout.readline().strip()
        at = urllib.parse.urlsplit(self.url)
        self.host, self.port, self.base = at.hostname, at.port, f"{at.scheme}://{at.netloc}"
        self.token = urllib.parse.parse_qs(at.query)["token"][0]
        self.cookie = f"cpuperf-{self.port}={self.token}"
        self.local, self.folder, self.status = None, folder, 0

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self.p.poll() is None:
            self.p.send_signal(signal.SIGINT)
        finish(self.p, self.status)

    def connect(self):
        """An own connection: it may be spoilt."""
        if self.local:
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(PATIENCE_S)
            s.connect(self.local)
            return s
        return socket.create_connection((self.host, self.port), timeout=PATIENCE_S)

    def get(self, path, method="GET", cookie=True, **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if cookie:
            headers["Cookie"] = self.cookie if cookie is True else cookie
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE_S)
        connection.sock = self.connect()
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer, text

    def raw(self, data):
        """What is answered to these bytes, as far as it comes."""
        text = b""
        with self.connect() as s:
            try:
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
                while more := s.recv(65536):
                    text += more
            except OSError:
                pass
        return text


def record(folder):
    run(CPUPERF, "--quiet", "-o", f"{folder}/session", "-e", "cpu_clock", "-F", "997", "-g", "--", MIX, "ms", "700", "2")


@functools.lru_cache
def recorded(waits=False):
    """The folder of a session that no check changes: of samples, or of states."""
    folder = f"{SHARED}/{'waits' if waits else 'samples'}"
    os.mkdir(folder)
    with open(f"{folder}/secret", "w", encoding="ascii") as f:
        f.write("hidden")
    if waits:
        run(CPUPERF, "--quiet", "-o", f"{folder}/session", "--spec-file=wall", "--", "sh", "-c",
            f"{MIX} ms 300 2; sleep 0.2")
    else:
        record(folder)
    return folder


@functools.lru_cache
def kept(waits):
    return SERVERS.enter_context(Server(recorded(waits=True) if waits else recorded()))


@contextlib.contextmanager
def served(waits=False):
    """The server of that session, which goes on: until all checks are done."""
    yield kept(waits)


def copy_recorded(folder, name="session"):
    shutil.copytree(f"{recorded()}/session", f"{folder}/{name}")


def printed(folder, *options):
    return output(PRINT, "--quiet", f"{folder}/session", "--output-format=ndjson", *options)


def compare(s, folder, report, arguments):
    """Byte for byte."""
    answer, text = s.get(f"/api/{report}?{urllib.parse.urlencode(arguments)}")
    assert answer.status == 200, (report, arguments, text)
    assert answer.headers["Content-Type"] == "application/x-ndjson; charset=utf-8"
    options = [f"--{name}" if (name, value) == ("asm", 1) else f"--{name}={value}" for name, value in arguments.items()]
    assert text == printed(folder, f"--report={report}", *options), (report, arguments)


def check_values(_):
    """Each report with each filter, byte for byte."""
    folder = recorded()
    pid = json.loads(printed(folder, "--report=threads").splitlines()[0])["pid"]
    filters = ({}, {"pid": pid}, {"comm": "mix"}, {"comm": "none"}, {"event": "cpu_*"}, {"cpu": "0"}, {"iteration": "0"},
               {"from": "100ms", "to": "400ms"}, {"from": "300ms", "to": "600ms"}, {"cpu": "1"}, {"tree-of": pid}, {"cmdline": "*mix*"}, {"top": 3, "sort": "total"},
               {"sort": "comm,function"}, {"min-percent": 5}, {"group-by": "process"}, {"function": "work_[ab]"})
    asks = [(report, f) for report in ("flat", "calls", "threads") for f in filters
            if "function" not in f or report != "threads"]
    for report in ("tree", "callers", "annotate", "stacks", "summary", "series", "records"):
        # the kernel changes its own instructions while it runs
        own = {"function": "work_*"} if report == "annotate" else {}
        asks += [(report, own), (report, {"comm": "mix", "iteration": "0", **own})]
    asks.append(("annotate", {"function": "[w]ork_a", "asm": 1}))
    with served() as s:
        for report, f in stride(asks, 2):
            compare(s, folder, report, f)
        functions = [json.loads(line) for line in s.get("/api/flat?function=work")[1].splitlines()]
        # the kernel has functions with that word, too
        assert {r["function"] for r in functions if r["object"] == "mix"} == {"work_a", "work_b", "work_c"}, functions
        calls = [json.loads(line) for line in s.get("/api/calls?function=[r]un")[1].splitlines()]
        assert {r["callee"] for r in calls if r["caller"] == "run"} >= {"work_a", "work_b"}, calls
        assert all("run" in (r["caller"], r["callee"]) for r in calls), calls
        facts = json.loads(s.get("/api/session")[1])
        assert facts["events"][0]["label"] == "cpu_clock" and "flat" in facts["reports"], facts
        assert "regions" not in facts["reports"] and "diff" not in facts["reports"], facts
        answer, text = s.get("/html?comm=mix")
        assert answer.status == 200 and text.startswith("<!doctype html>") and '"nr_nodes"' in text


def check_values_of_waits(_):
    """States are events of one quantity, and so depend on the events that are selected."""
    folder = recorded(waits=True)
    with served(waits=True) as s:
        facts = json.loads(s.get("/api/session")[1])
        if "waits" not in facts["reports"]:
            print("skip: waits: not sampled here (BPF)")
            return
        assert programs_missing() or "locks" in facts["reports"], facts["reports"]
        asks = [(report, f) for report in ("waits", "flat", "threads", "tree", *({"locks"} & set(facts["reports"])))
                for f in ({}, {"event": "off_cpu_time"}, {"comm": "sleep"}, {})]
        asks += [("flat", {"sort": "state,reason,function"}), ("tree", {"group-by": "state"})]
        for report, f in stride(asks, 4):
            compare(s, folder, report, f)


def check_values_of_heap(folder):
    """Values, of which the last iteration counts, and the largest."""
    run(CPUPERF, "--quiet", "-o", f"{folder}/session", "-e", "heap:live@1,heap:peak@1,heap:max@1,heap:allocated@1", "-g",
        "--", "bash", "-c", "for i in {1..500}; do a[i]=$i; done", cwd=folder)
    with Server(folder) as s:
        assert "heap" in json.loads(s.get("/api/session")[1])["reports"]
        asks = [(report, f) for report in ("heap", "flat", "tree", "sizes")
                for f in ({}, {"event": "live"}, {"comm": "bash"}, {"iteration": 0}) if report != "sizes" or not f]
        for report, f in stride(asks, 3):
            compare(s, folder, report, f)


def rows_of(s, path):
    answer, text = s.get(path)
    assert answer.status == 200, text
    return [json.loads(line) for line in text.splitlines()]


def page_data(s, **arguments):
    """What the page is made of."""
    answer, text = s.get(f"/api/page?{urllib.parse.urlencode(arguments)}")
    assert answer.status == 200, text
    return json.loads(text)


def check_data(folder):
    """The page that is served has the data of one in a file, of what the server selects."""
    folder, one = recorded(), "--threads=1"  # threads are numbered as they are met
    with Server(folder, one) as s:
        for arguments in ({}, {"cpu": "0"}, {"iteration": "0"}, {"comm": "mix"}):
            text = output(PRINT, "--quiet=2", f"{folder}/session", "--output-format=html", one,
                          *(f"--{k}={v}" for k, v in arguments.items()))
            data = pages.data_of(text)
            assert data.pop("reports") and page_data(s, **arguments) == data, arguments
        saved = s.get("/html?cpu=0")[1]
        assert pages.data_of(saved)["reports"], "a file that is saved has them, too"
        page = s.get("/")[1]
        assert pages.data_of(page) is None and page.count("connect-src 'self'") == 1 and "connect-src" not in saved
        # but for the policy and the data it is the same page
        (a, b), (c, d) = (re.split(r'content="default-src[^"]*"', text) for text in (page, saved))
        assert a == c and b.replace("null", "", 1) == d.replace(d[d.index('id="data">') + 10:d.index("</script>", d.index('id="data">'))], "", 1)


def check_several_sessions(folder):
    """Sessions are added up, and told apart; those of other events are refused before there is a URL."""
    for name in ("session", "other"):
        run(CPUPERF, "--quiet", "-o", f"{folder}/{name}", "-e", "cpu_clock@1000Hz", "-g", "--", MIX, "ms", "100", "1")
    with Server(folder, f"--session={folder}/other") as s:
        rows = rows_of(s, "/api/flat?by-session=1")
        assert len({r["session"] for r in rows}) == 2
        assert page_data(s)["events"][0]["samples"] == [sum(r["self_samples"] for r in rows)]
        answer, text = s.get("/api/page?event=none")
        assert answer.status == 400 and "no event of the session matches" in text and "cpu_clock" in text, text
    run(CPUPERF, "--quiet", "-o", f"{folder}/faults", "-e", "page_faults@1", "--", MIX, "ms", "10", "1")
    wrong = run(PRINT, "--quiet", f"{folder}/session", f"--session={folder}/faults", "--serve", code=1)
    assert not wrong.stdout and "measured other events" in wrong.stderr, wrong


def record_regions(folder):
    run("cc", "-O1", "-g", f"-I{SOURCE}/include", "-pthread", "-o", f"{folder}/regions", f"{SOURCE}/tests/system/regions.c", "-ldl")
    run(CPUPERF, "--quiet", f"--output={folder}/session", "--regions", "-e", "cpu_clock@1000Hz", "-g", "--",
        f"{folder}/regions", "threads", code=7)


def bytes_read(pid):
    with open(f"/proc/{pid}/io", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("rchar"))


def names_of_threads(pid):
    for path in glob.glob(f"/proc/{pid}/task/*/comm"):
        with contextlib.suppress(OSError), open(path, encoding="ascii") as f:
            yield f.read().rstrip()


def wait_for_silence(server):
    """Until nothing more is read ahead: what is there for the page's first requests."""
    before, nr_same = -1, 0  # the kernel adds what a thread read to the process some time after the thread is gone
    while nr_same < 3:  # the thread may not have begun, or not have had a CPU
        is_quiet = "read-ahead" not in names_of_threads(server.p.pid)
        now = bytes_read(server.p.pid)
        nr_same = nr_same + 1 if is_quiet and now == before else 0
        before = now
        time.sleep(0.2)
    return now


def first_asks(server):
    """What the page asks first, and a report that was made ahead, without anything being read. Returns how much was."""
    asks = json.loads(server.get("/api/session")[1])["arguments"]  # reads the begin of each trace
    read = bytes_read(server.p.pid)
    assert page_data(server)["nr_nodes"] > 1
    text = server.get(f"/api/threads?{urllib.parse.urlencode(asks['threads'])}")[1]
    assert text == printed(server.folder, "--report=threads", *(f"--{k}={v}" for k, v in asks["threads"].items())) != ""
    return bytes_read(server.p.pid) - read


def check_read_ahead(_):
    """The samples of the views are read before they are asked for, and once; what the page asks first is there."""
    folder = recorded()
    size = sum(e.stat().st_size for e in os.scandir(f"{folder}/session") if ".common." not in e.name)
    with Server(folder) as s:
        read = wait_for_silence(s)
        assert read > 2 * size, (read, size)  # the page, threads, annotate
        assert first_asks(s) < size / 10, "read again"
        read = bytes_read(s.p.pid)  # with the begin of each trace, for the session
        assert s.get("/api/threads?top=3")[0].status == 200
        again = bytes_read(s.p.pid) - read
        assert again < size / 10, ("read again", again, size)
        assert s.get("/api/summary?top=3")[0].status == 200  # is not made ahead
    wanted = printed(folder, "--report=threads", "--top=3")
    with Server(folder) as s:  # who asks at once does not wait for what was not asked for, nor does the end
        for _ in range(20):
            assert s.get("/api/threads?top=3")[1] == wanted
    assert s.p.returncode == 0


def check_counts_made_ahead(folder):
    """Counts over time are read each time; not when the page asks first."""
    run(CPUPERF, "--quiet", "-o", f"{folder}/session", "-n", "20", "-d", "20ms", "-e", "cpu_clock,memory_used")
    size = sum(e.stat().st_size for e in os.scandir(f"{folder}/session"))
    with Server(folder) as s:
        read = wait_for_silence(s)
        assert {line["of"] for line in page_data(s)["series"]} >= {"cpu_clock", "memory_used"}
        assert bytes_read(s.p.pid) - read < size / 10, (size, bytes_read(s.p.pid) - read)


def check_interrupted(folder):
    """What is read while something is asked for begins again."""
    run(CPUPERF, "--quiet", "-o", f"{folder}/session", "-e", "cpu_clock@9997Hz", "-g", "--", MIX, "ms", "800", "2")
    size = sum(e.stat().st_size for e in os.scandir(f"{folder}/session") if ".common." not in e.name)
    with Server(folder) as s:
        for i in range(4):
            s.get(f"/api/threads?top={10 + i}")
            time.sleep(0.55)
        wait_for_silence(s)
        assert first_asks(s) < size / 10, "given up"
    assert s.p.returncode == 0


def check_notes_of_what_was_not_asked_for(folder):
    """What must be known of a report is told when it is asked for, that of a file at once."""
    copy_recorded(folder)
    with open(f"{folder}/session/" + next(n for n in sorted(os.listdir(f"{folder}/session")) if ".common." not in n), "r+b") as f:
        f.truncate(os.fstat(f.fileno()).st_size - 20)
    notes = lambda: "".join(json.loads(s.get("/api/session")[1])["notes"])
    with Server(folder, "--comm=mix") as s:
        wait_for_silence(s)
        assert "not filtered by --comm" not in notes() and "damaged" in notes(), notes()
        s.get("/api/series")
        assert "series: counts are not filtered by --comm" in notes(), notes()
        s.status = 1  # not all could be read


def check_in_progress(folder):
    """What grows is not kept."""
    recorder = subprocess.Popen([CPUPERF, "--quiet", "-o", f"{folder}/session", "-n", "1", "-d", "600", "-e",
                                 "cpu_clock@1000Hz,memory_used@0.02s"], stdout=subprocess.DEVNULL)
    manifest, end = f"{folder}/session/cpuperf.cpsession", time.monotonic() + PATIENCE_S
    while not (os.path.exists(manifest) and os.path.exists(f"{folder}/session/cpuperf.0.0.cpuperf")):
        assert time.monotonic() < end
        time.sleep(0.1)
    time.sleep(1)
    with Server(folder) as s:
        first, end = s.get("/api/series")[1], time.monotonic() + PATIENCE_S
        while len(s.get("/api/series")[1]) <= len(first):
            assert time.monotonic() < end
            time.sleep(0.5)
        recorder.terminate()
        recorder.wait()


def check_kept_answers(_):
    """Those of other requests are others."""
    with served() as s:
        for _ in range(2):
            for more in ("top=1", "top=1&comm=mix", "top=1&comm=none", "top=1&comm=none%0Atop=1", "comm=mix&top=1"):
                text = s.get(f"/api/flat?{more}")[1]
                assert (not text) == ("none" in more), (more, text)
                assert s.get(f"/api/threads?{more}")[1] != text or not text, more
        assert s.get("/api/flat?top=x")[0].status == s.get("/api/flat?top=x")[0].status == 400
        assert json.loads(s.get("/api/flat?sort=--xyz")[1])["error"] == 'sort: no column "--xyz"'


def check_code_is_read_anew(folder):
    """A source that is found later is shown."""
    source = f"{folder}/spin.c"
    with open(source, "w", encoding="ascii") as f:
        f.write("int main(void) {\n\tfor (volatile long i = 0; i < 60000000; i++)\n\t\t;\n}\n")
    run("cc", "-O1", "-g", "-o", f"{folder}/spin", source)
    run(CPUPERF, "--quiet", "-o", f"{folder}/session", "-e", "cpu_clock@997Hz", "-g", "--", f"{folder}/spin")
    os.rename(source, f"{folder}/away.c")
    with Server(folder) as s:
        for is_there in (False, True):
            if is_there:
                os.rename(f"{folder}/away.c", source)
            text = s.get("/api/annotate?function=main")[1]
            assert text == printed(folder, "--report=annotate", "--function=main"), is_there
            assert ("volatile" in text) == is_there, text


def check_ranges(_):
    """A range of time is the same whether the rest is read or not."""
    folder = recorded()
    with served() as s:
        ranges = ((0, 100), (100, 300), (150, 151), (400, 100000), (99998, 99999))
        for report, (begin, end) in stride(itertools.product(("flat", "threads", "waits", "tree", "series"), ranges), 3):
            asked = s.get(f"/api/{report}?from={begin}ms&to={end}ms")[1]
            assert asked == printed(folder, f"--report={report}", f"--from={begin}ms", f"--to={end}ms"), (report, begin)


def check_options_stay(_):
    """What the command line chose stands where a request names nothing."""
    folder = recorded()
    with Server(folder, "--comm=none") as s:
        assert s.get("/api/flat")[1] == ""
        assert s.get("/api/flat?comm=")[1] == printed(folder, "--report=flat") != ""
        assert s.get("/api/flat?comm=mix")[1] == printed(folder, "--report=flat", "--comm=mix")


def check_diff(folder):
    copy_recorded(folder, "older")
    record(folder)
    options = ("--diff", f"{folder}/older")
    with served() as s:
        answer, text = s.get("/api/diff")
        assert answer.status == 400 and "nothing to compare with" in text, text
    with Server(folder, *options) as s:
        assert s.get("/api/diff")[1] == printed(folder, "--report=diff", *options) != ""
        assert "diff" in json.loads(s.get("/api/session")[1])["reports"]
    both = (f"--session={folder}/older",)
    with Server(folder, *both) as s:
        for more in ((), ("--by-session",)):
            query = "?by-session=1" if more else ""
            assert s.get(f"/api/flat{query}")[1] == printed(folder, *both, "--report=flat", *more) != ""


def check_states(folder):
    """Sessions that sample waits are compared, and shown in a page, by state, as the command line does."""
    for name in ("older", "session"):
        run(CPUPERF, "--quiet", "-o", f"{folder}/{name}", "--spec-file=wall", "--", "sh", "-c", "sleep 0.3; i=0; "
            "while [ $i -lt 30000 ]; do i=$((i+1)); done")
    # with several threads the page numbers the names of threads in the order in which these found them
    options = ("--diff", f"{folder}/older", "--threads=1")
    with Server(folder, *options) as s:
        asked = s.get("/api/diff")[1]
        assert asked == printed(folder, "--report=diff", *options) and '"state":"blocked"' in asked, asked[:1000]
        assert s.get("/html")[1] == output(PRINT, "--quiet", f"{folder}/session", *options, "--output-format=html")


def check_tokens(_):
    with served() as s:
        assert re.fullmatch(r"http:..127\.0\.0\.1:\d+/\?token=[0-9a-f]{32}", s.url), s.url
        other = "0" * 32
        for cookie in (None, "", other, f"cpuperf-{s.port}={other}", f"cpuperf-{s.port}=", f"x{s.cookie}", s.cookie[:-1],
                       f"{s.cookie}0", f"cpuperf-1={s.token}"):
            for path in ("/", "/api/flat", "/api/session", "/html", "/nothing", f"/?token={other}", "/?token=",
                         f"/?token={s.token}0", f"/?Token={s.token}"):
                answer, text = s.get(path, cookie=cookie)
                assert answer.status == 403 and "no token" in text and "Set-Cookie" not in answer.headers, (cookie, path)
        for cookie in (f"a=b; {s.cookie}; c=d", f"{s.cookie};x"):
            assert s.get("/api/session", cookie=cookie)[0].status == 200, cookie
        answer, text = s.get(f"/?view=flat&token={s.token}&comm=a%26b%0d%0ax", cookie=False)
        assert answer.status == 303 and answer.headers["Location"] == "/?view=flat&comm=a%26b%0D%0Ax", answer.headers
        assert answer.headers["Set-Cookie"] == f"{s.cookie}; Path=/; HttpOnly; SameSite=Strict"
        assert not text and s.token not in answer.headers["Location"]
        answer, _ = s.get(f"//evil.example/%5c?token={s.token}", cookie=False)
        assert answer.headers["Location"] == "/evil.example/%5C", answer.headers["Location"]
        assert s.get(f"/?token={other}")[0].status == 403, "a wrong one counts, whatever cookie there is"
        token = s.token
    with Server(recorded()) as s:
        assert s.token != token


def check_hosts(_):
    with served() as s:
        for host in (f"127.0.0.1:{s.port}", f"localhost:{s.port}", f"LOCALHOST:{s.port}"):
            assert s.get("/", Host=host)[0].status == 200, host
        for host in ("evil.example", f"evil.example:{s.port}", "127.0.0.1", "localhost", f"127.0.0.1:{s.port + 1}",
                     f"localhost.evil.example:{s.port}", f"127.0.0.1.evil.example:{s.port}", f"[::1]:{s.port}", "",
                     f"127.0.0.1:{s.port}:1", f"127.0.0.1:{s.port}x", "x" * 1000, f"0.0.0.0:{s.port}", f"@:{s.port}"):
            answer, text = s.get(f"/?token={s.token}", Host=host)
            assert answer.status in (400, 403) and "Set-Cookie" not in answer.headers, (host, text)
            assert s.get("/api/flat", Host=host)[0].status in (400, 403), host
        assert b" 403 " in s.raw(f"GET / HTTP/1.0\r\nCookie: {s.cookie}\r\n\r\n".encode()).splitlines()[0]
        for site, status in (("none", 200), ("same-origin", 200), ("same-site", 403), ("cross-site", 403), ("", 403)):
            assert s.get("/api/flat", Sec_Fetch_Site=site)[0].status == status, site
    with Server(recorded(), address="=0.0.0.0:0") as s:
        assert s.get("/", Host=f"127.0.0.1:{s.port}")[0].status == 200
        assert s.get("/", Host=f"10.0.0.1:{s.port}")[0].status == 200
        assert s.get("/", Host=f"evil.example:{s.port}")[0].status == 403
        s.p.send_signal(signal.SIGTERM)
        assert "HTTP has no encryption" in s.p.communicate()[1]


def check_headers(_):
    with served() as s:
        for path, cookie in (("/", True), ("/", False), ("/api/flat", True), ("/api/x", True), ("/html", True),
                             (f"/?token={s.token}", False), ("/x", True), ("/api/flat?pid=x", True)):
            h = s.get(path, cookie=cookie)[0].headers
            policy = h["Content-Security-Policy"]
            assert all(part in policy.split("; ") for part in POLICY), (path, policy)
            assert "unsafe" not in policy and "*" not in policy and "http" not in policy, policy
            assert h["Referrer-Policy"] == "no-referrer" and h["X-Content-Type-Options"] == "nosniff", h
            assert h["X-Frame-Options"] == "DENY" and h["Cache-Control"] == "no-store", h
            assert h["Cross-Origin-Resource-Policy"] == "same-origin" and "Access-Control-Allow-Origin" not in h
            scripts = re.findall(r"(?:script|connect|style)-src ([^;]*)", policy)
            assert scripts == [] or path in ("/", "/html"), (path, policy)
            assert all(re.fullmatch(r"'(self|sha256-[A-Za-z0-9+/=]+)'", x) for x in scripts), policy


def check_methods_and_paths(_):
    with served() as s:
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "NONSENSE", "get"):
            assert s.get("/", method=method)[0].status in (400, 405), method
            assert s.get(f"/?token={s.token}", method=method, cookie=False)[0].status in (400, 405), method
        answer, text = s.get("/api/flat", method="HEAD")
        assert answer.status == 200 and not text
        for path in ("/../secret", "/%2e%2e/secret", "/..%2fsecret", "//secret", "/secret", "/./", "/api", "/api/", "/api/../secret",
                     "/api/flat/", "/api/..%2f..%2fetc%2fpasswd", "/etc/passwd", "/api/perf-data", "/api/sqlite",
                     "/api/text", "/html/", "/API/flat", f"/{s.folder}/secret", "/api/%0d%0aX: y", "/%ff%fe", "/" + "a" * 5000):
            answer, text = s.get(urllib.parse.quote(path, safe="/%"))
            assert answer.status in (400, 404) and "hidden" not in text and "root:" not in text, (path, answer.status, text)
            assert "X" not in answer.headers, path
        assert os.path.exists(f"{s.folder}/secret")
        queries = ("pid=x", "pid=1-", "top=-1", "top=x", "from=x", "sort=x", "nothing=1", "output-file=x", "session=/etc/passwd",
                   "sysroot=/", "debug-dir=/", "source-dir=/", "kallsyms=/etc/passwd", "debuginfod=1", "push=x", "serve=1",
                   "lines=2", "group-by=x", "min-percent=x", "threads=9", "by-count=1", "diff=x", "=", "&&&=&", "merge=s/a/b/",
                   "pid=" + ",".join(map(str, range(300))), "log-file=x")
        for query in stride(queries, 12):
            answer, text = s.get(f"/api/flat?{query}")
            assert answer.status == 400 and json.loads(text)["error"], (query, text)
            assert not re.search("--[a-z]", text), (query, text)
        assert not os.path.exists(f"{s.folder}/x")
        assert s.get("/api/flat?" + "&".join(["comm=a"] * 100))[0].status == 414
        assert s.get("/api/flat?comm=" + "a" * 10000)[0].status == 200
        fits = (32 << 10) // 3 - len("/api/flat?comm=")  # a third of a connection's memory
        large = [(nr, query) for nr in (8000, fits, fits + 1, 17000, 24000, 31000, 32600, 40000)
                 for query in ("comm=" + "a" * nr, "&a" * (nr // 2), "a=b&" * (nr // 4), "?" * nr)]
        for nr, query in stride(large, 9):
            asked = f"GET /api/flat?{query} HTTP/1.1\r\nHost: 127.0.0.1:{s.port}\r\nCookie: {s.cookie}\r\n\r\n".encode()
            is_fine = query.startswith("comm") and nr <= fits
            for _ in range(100):  # what comes after the answer resets the connection, perhaps before that is read
                text = s.raw(asked)
                if text or nr < 31000:
                    break
            assert text.startswith(b"HTTP/1.1 200 " if is_fine else b"HTTP/1.1 414 "), (nr, query[:6], text[:50])


def check_huge_slow_and_many(_):
    """Connections are few, and what is not whole waits for nobody."""
    with served() as s:
        for garbage in (b"\0" * 100, b"GET " + b"/" * 1000000, b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200000,
                        b"GET / HTTP/1.1\r\nHost: " + b"a" * 1000000, b"\r\n" * 1000, b"GET / HTTP/9.9\r\n\r\n",
                        b"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n" + b"x" * 100000,
                        b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"):
            text = s.raw(garbage)
            assert not text or b" 200 " not in text.splitlines()[0], (garbage[:30], text[:100])
        slow = [s.connect() for _ in range(8)]
        for x in slow:
            x.sendall(b"GET /api/flat HTTP/1.1\r\nHost: 127.0")
        assert s.get("/api/session")[0].status == 200
        for x in slow:
            x.close()
        unread = s.connect()  # asks much and reads nothing
        unread.sendall(f"GET /api/records HTTP/1.1\r\nHost: 127.0.0.1:{s.port}\r\nCookie: {s.cookie}\r\n\r\n".encode() * 20)
        assert s.get("/api/session")[0].status == 200
        unread.close()
        many = []
        for _ in range(1000):
            x = socket.socket()
            x.setblocking(False)
            x.connect_ex((s.host, s.port))
            many.append(x)
        time.sleep(0.5)
        fds = len(os.listdir(f"/proc/{s.p.pid}/fd"))
        assert fds < 400, fds  # 256 wait at the door
        for x in many:
            x.close()
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                assert s.get("/api/session")[0].status == 200
                break
            except OSError:
                assert time.monotonic() < end
        assert s.p.poll() is None


def check_half_closed(_):
    """The connection of a reader that will ask no more ends, while an older one stays that may."""
    with served() as s:
        asked = f"HEAD /api/session HTTP/1.1\r\nHost: 127.0.0.1:{s.port}\r\nCookie: {s.cookie}\r\n\r\n".encode()
        with s.connect() as older:
            older.sendall(asked)
            answer = b""
            while not answer.endswith(b"\r\n\r\n"):
                answer += older.recv(65536)
            for _ in range(10):  # its end may come before it is let in
                assert b" 200 " in s.raw(asked).splitlines()[0]
            older.setblocking(False)
            try:
                raise AssertionError(("the older one has ended, too", older.recv(1)))
            except BlockingIOError:
                pass


def check_sockets(folder):
    source = recorded()
    at = f"{folder}/socket"
    with Server(source, address=f"=unix:{at}") as s:
        s.local = at
        assert os.stat(at).st_mode & 0o777 == 0o600, oct(os.stat(at).st_mode)
        s.host, s.port, s.cookie = "localhost", 80, f"cpuperf-0={s.token}"
        assert s.get("/", cookie=None)[0].status == 403
        assert s.get(f"/?token={s.token}", cookie=None)[0].headers["Set-Cookie"].startswith(s.cookie)
        assert s.get("/api/flat")[1] == printed(source, "--report=flat")
        assert s.get("/", Host="evil.example")[0].status == 403
        done = run(PRINT, "--quiet", f"{source}/session", f"--serve=unix:{at}", code=1)
        assert "another program listens there" in done.stderr, done.stderr
    assert not os.path.exists(at)
    for address in ("x", "127.0.0.1:99999", "localhost:1", "unix:"):
        done = run(PRINT, "--quiet", f"{source}/session", f"--serve={address}", code=1)
        assert "--serve" in done.stderr, (address, done.stderr)
    for other in ("--report=flat", "--live", "--output-format=csv", "--output-file=x"):
        assert "mutually exclusive" in run(PRINT, f"{source}/session", "--serve", other, code=2).stderr, other


def check_ends(folder):
    """By each signal, also while readers are there; and nothing is written."""
    copy_recorded(folder)
    before = {e.name: (e.stat().st_mtime_ns, e.stat().st_size) for e in os.scandir(f"{folder}/session")}
    for number in stride((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), 1):
        with Server(folder) as s:
            assert s.get("/api/flat")[0].status == 200
            idle = s.connect()
            s.p.send_signal(number)
            assert s.p.wait(PATIENCE_S) == 0
            idle.close()
    assert before == {e.name: (e.stat().st_mtime_ns, e.stat().st_size) for e in os.scandir(f"{folder}/session")}
    assert sorted(os.listdir(folder)) == ["session"]


def check_counts_alone(folder):
    """A session without samples has other views."""
    run(CPUPERF, "--quiet", "-o", f"{folder}/session", "-e", "task_clock,page_faults", "--", "true")
    with Server(folder) as s:
        reports = json.loads(s.get("/api/session")[1])["reports"]
        assert "flat" not in reports and "summary" in reports, reports
        assert s.get("/api/summary")[1] == printed(folder, "--report=summary") != ""
        answer, text = s.get("/api/flat")
        assert answer.status == 400 and "has counts only" in text and "output-format" not in text, text


def open_view(page, url):
    """Returns when the view is drawn; anew, also where only what is behind # differs."""
    page.load("about:blank")
    page.load(url)
    drawn(page)


def drawn(page):
    page.until("(!!window.cpuperf && document.getElementById('report').getAttribute('aria-busy') !== 'true') ||"
               " !document.getElementById('fault').hidden")
    page.settle()


def tables_of(page):
    return page.run("[...document.querySelectorAll('#report table')].map((t) => [[...t.querySelectorAll('th')].map((c) => c.textContent),"
                    " ...[...t.querySelectorAll('tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))])")


def check_page_of_counts(folder):
    """Totals as the summary has them, and a course for each event."""
    if not browser.find():
        print("skip: page of counts: no chromium (scripts/deps test)")
        return
    run(CPUPERF, "--quiet", "-o", f"{folder}/session", "-e",
        "task_clock,misc:disk_read_bytes,misc:memory_used,instructions_retired", "-d0.2", "-n4", "--no-live")
    with Server(folder) as s, browser.Browser(1000, 900) as page:
        measured = [r["label"] for r in rows_of(s, "/api/summary") if r.get("summary") and r["mean"] is not None]
        open_view(page, s.url)
        rows = page.run("[...document.querySelectorAll('#rows li b')].map((e) => e.textContent)")
        assert all(any(name in row for row in rows) for name in measured) and "memory_used" in measured, (rows, measured)
        open_view(page, f"{s.base}/#view=summary")
        (_, *shown), = tables_of(page)
        assert [row[0] for row in shown] == measured, (shown, measured)
        page.assert_quiet()


# What the fields of a row are in: a field that ends in _ns is a time, one that ends in count is in the event's unit.
PERCENTS = {"self", "total", "share", "was", "is", "change", "relative"}
BYTES = {"peak", "live", "leaked", "unreachable", "allocated", "freed", "temporary", "overhead", "resident", "untouched", "max",
         "brief"}
OF_TIME = {"thread_time", "wall_time", "cpu_time"}  # no events of the session
NAMES_OF = {"pid", "tid", "holder_tid", "thread", "iteration", "rank"}  # numbers that filters take
TIMES = {"s": 1e9, "ms": 1e6, "µs": 1e3, "ns": 1}
PREFIXES = dict(zip("kMGTPE", (1e3, 1e6, 1e9, 1e12, 1e15, 1e18)))


def number_of(text, unit):
    """The number and the most that was rounded away; of a text in another unit, none."""
    digits, decimals, shown = re.fullmatch(r"([+-]?[\d,]+)(\.\d+)?(?: (.*))?", text).groups()
    factors = TIMES if unit == "ns" else {"": 1} if unit in ("%", "pp") else {"": 1, **PREFIXES}
    names = {f"{prefix}{unit}": f for prefix, f in factors.items()} | {f"{prefix} {unit}": f for prefix, f in factors.items() if prefix}
    factor = (factors if unit == "ns" else names).get((shown or "").strip(), math.nan)
    return float(digits.replace(",", "") + (decimals or "")) * factor, factor * 0.51 * 10.0 ** -len((decimals or ".")[1:])


def unit_of(row, field, events, report):
    """The unit, and what the field is multiplied by."""
    if report == "summary":
        return row["unit"], 1
    event = events.get(row.get("event") or field.removesuffix("_count"))
    if re.search("(^|_)count$", field) and (event or row.get("event") in OF_TIME):
        return ("ns", 1) if not event else (event["unit"], event["scale"])
    if field.endswith("_ns"):
        return "ns", 1
    if field in PERCENTS or f"{field}_count" in row:  # the share that regions have under an event's name
        return ("pp" if field == "change" and row["was"] else "%"), 1
    if report in ("heap", "sizes", "lifetimes") and (field in BYTES or re.match("below|above", field)):
        return "B", 1
    if report == "memory" and not field.startswith("mappings"):
        return "B", 1
    if report == "locks" and field in ("time", "mean", "max"):
        return "ns", 1
    if report == "what-if":
        return ("ns" if field == "own_time" else "%"), 1
    return "%" if field == "holder_share" else "", 1


def compare_cell(text, row, field, events, report):
    value = row[field]
    if field in NAMES_OF or not re.fullmatch(r"-?\d+(\.\d+)?", value):
        assert text == {"true": "yes", "false": ""}.get(value, value), (report, field, text, row)
        return
    unit, scale = unit_of(row, field, events, report)
    if " to " in text:  # of an amount that is less than its error
        for number, rounded, end in ((*number_of(of, unit), float(row[f"{field}_{end}"])) for of, end in zip(text.split(" to "), ("low", "high"))):
            assert abs(number - scale * max(0, end)) <= rounded + 1e-6 * abs(number), (report, field, text, row)
        assert float(row[f"{field}_high"]) >= 2 * float(value) or float(row[f"{field}_low"]) <= 0, (field, text, row)
        return
    shown, _, half = text.partition(" ± ")
    number, rounded = number_of(shown, unit)
    exact = scale * float(value)
    assert abs(number - exact) <= rounded + 1e-6 * abs(exact), (report, field, text, row)
    if half:
        far = row[f"{field}_half"] if f"{field}_half" in row else max(
            float(row[f"{field}_high"]) - float(value), float(value) - float(row[f"{field}_low"]))
        of = 0.01 * float(value) if half.endswith("%") and not shown.endswith("%") else 1  # of an amount it is a part
        number, rounded = number_of(half, "%" if half.endswith("%") else "")
        assert abs(number - float(far) / of) <= rounded + 1e-6 * number, (report, field, text, row)


def csv_rows(session, report, arguments, *options):
    text = output(PRINT, "--quiet", session, f"--report={report}", "--output-format=csv",
                  *(f"--{name}={value}" for name, value in arguments.items()), *options)
    by_event = {}
    for row in csv.DictReader(text.splitlines()):
        by_event.setdefault(row.get("event"), []).append(row)
    return by_event


def rows_are_csv(page, report, session, events, top, *options):
    """What stands in the cells of a view is what csv has."""
    wanted = csv_rows(session, report, {"top": top} if report != "summary" else {}, *options)
    if report == "summary":  # sums, which csv has not
        totals = [json.loads(line) for line in output(PRINT, "--quiet", session, "--report=summary", "--output-format=ndjson").splitlines()]
        wanted = {"": [{k: "" if v is None else f"{v:.9f}" if isinstance(v, float) else str(v) for k, v in r.items()}
                       for r in totals if r.get("summary") and r["mean"] is not None]}
    wanted = {event: rows for event, rows in wanted.items() if rows}
    tables = tables_of(page)
    assert len(tables) == len(wanted), (report, tables, wanted)
    for (headings, *shown), rows in zip(tables, wanted.values()):
        assert len(shown) == min(200, len(rows)) and "?" not in "".join(headings), (report, headings, len(rows))
        fields = [next((f for f in (h.replace(" ", "_"), h.replace(" ", "_") + "_ns") if f in rows[0]), None) for h in headings]
        assert all(fields), (report, headings, rows[0])
        for cells, row in zip(shown, rows):
            for text, field in zip(cells, fields):
                compare_cell(text, row, field, events, report)
        page.assert_quiet()


def check_titles(_):
    """Page and navigator are named by the command, its program without the folder."""
    with served() as s:
        facts = json.loads(s.get("/api/session")[1])["sessions"][0]
        assert facts["title"] == pages.data_of(s.get("/html")[1])["title"] == "mix ms 700 2", facts
        assert facts["name"] != facts["title"], facts
    with served(waits=True) as s:  # a new line is no part of a title
        title = json.loads(s.get("/api/session")[1])["sessions"][0]["title"]
        assert title == f"sh -c '{MIX} ms 300 2; sleep 0.2'", title
    # of a machine, what it was, how long and when
    with Server(f"{SOURCE}/tests/data/sessions", session="tally.cpsession") as s:
        facts = json.loads(s.get("/api/session")[1])["sessions"][0]
        assert facts["title"] == pages.data_of(s.get("/html")[1])["title"] == \
            f"tally: machine {facts['host']}, 600.1 ms, 2026-11-20 21:14:43 UTC", facts


def kept_samples(folder):
    record(folder)
    os.rename(f"{folder}/session", f"{folder}/before")
    return recorded(), "session", "--diff", f"{folder}/before"


def kept_heap(folder):
    run(CPUPERF, "--quiet", "-o", f"{folder}/heap", "-e", ",".join(f"heap:{e}@64" for e in ("live", "peak", "max", "allocated", "lifetime")),
        "-g", "--", "bash", "-c", "for i in {1..200}; do a[i]=$i; done", cwd=folder)
    return folder, "heap"


def kept_locks(folder):
    """Each fourth of a ms of waits is a sample: some locks have few."""
    run("cc", "-O1", "-g", "-pthread", "-o", f"{folder}/locks_", f"{SOURCE}/tests/system/locks.c")
    run(CPUPERF, "--quiet", "-o", f"{folder}/locks", "-e", "sched:off_cpu_time@250000", "-g", "--", f"{folder}/locks_", "20", cwd=folder)
    return folder, "locks"


def kept_regions(folder):
    record_regions(folder)
    return folder, "session"


def kept_counts(folder):
    run(CPUPERF, "--quiet", "-o", f"{folder}/counts", "-n3", "-d20ms", "-e", "task_clock,page_faults,memory_used,process_cpu_time",
        "--no-live")
    return folder, "counts"


# Sessions of each kind: the folder, the name in it, and what it is shown with.
KEPT = [kept_samples, lambda _: (recorded(waits=True), "session"), kept_heap, kept_locks, kept_regions, kept_counts,
        *(lambda _, name=name: (f"{SOURCE}/tests/data/sessions", name)
          for name in ("samples.cpsession", "tally.cpsession", "things.cpsession", "samples.perf.data"))]
MODES = ("icicle", "callers", "order", "sandwich", "flame")
SHOWN = {"threads", "waits", "locks", "what-if", "memory", "regions", "heap", "sizes", "lifetimes", "latency", "functions", "diff", "hosts", "summary"}


def check_cells(folder):
    """Each view that is a table, of each kind of session: served, and in a file."""
    if not browser.find():
        print("skip: cells: no chromium (scripts/deps test)")
        return
    for kept_ in stride(KEPT, 3):
        where, name, *options = kept_(folder)
        output(PRINT, "--quiet=2", f"{where}/{name}", *options, "--output-format=html", f"--output-file={folder}/page.html")
        with Server(where, *options, session=name) as s, browser.Browser(1200, 900) as page:
            open_view(page, s.url)
            facts = json.loads(s.get("/api/session")[1])
            events = {e["label"]: e for e in facts["events"]}
            for mode in MODES if page.run("cpuperf.page.hasSamples") else ():
                page.run(f"cpuperf.page.setMode('{mode}')")
                page.settle()
                assert page.run("cpuperf.frames().length || cpuperf.sandwich().flat().length") and not page.problems(), (name, mode)
            for report in SHOWN.intersection(facts["reports"]):
                for url, top in ((f"{s.base}/#view={report}", 2000), (f"file://{folder}/page.html#view={report}", 200)):
                    open_view(page, url)
                    rows_are_csv(page, report, f"{where}/{name}", events, top, *(options if report == "diff" else ()))
        os.remove(f"{folder}/page.html")
        if where == folder:
            shutil.rmtree(f"{folder}/{name}")


def shown_functions(page):
    return {(r["name"], r["object"]): (r["self"][0], r["samples"][0]) for r in page.run("cpuperf.functions()")}


def flat_of(folder, *options):
    return {(r["function"], r["object"]): (r["self_count"], r["self_samples"])
            for r in map(json.loads, printed(folder, "--report=flat", "--top=0", *options).splitlines())}


def check_page(_):
    """Filters, keys, links, at each width; nothing is wider than the window, and nothing is asked of others."""
    if not browser.find():
        print("skip: page: no chromium (scripts/deps test)")
        return
    folder = recorded()
    threads = [json.loads(line) for line in printed(folder, "--report=threads").splitlines()]
    with served() as s, browser.Browser(1280, 900) as page:
        open_view(page, s.url)
        assert page.run("location.href") == f"{s.base}/", "the token leaves the address"
        assert page.run("document.cookie") == ""
        assert page.run("[document.title, document.querySelector('h1').textContent]") == ["mix ms 700 2 – cpuperf", "mix ms 700 2"]
        assert shown_functions(page) == flat_of(folder)
        page.key("/")
        assert page.run("document.activeElement.id") == "search"
        page.type("cpu:0")
        page.follow("document.activeElement.blur()")  # other data are asked for
        drawn(page)
        assert shown_functions(page) == flat_of(folder, "--cpu=0")  # all, where nothing ran elsewhere
        assert page.run("document.getElementById('chips').textContent") == "cpu:0×"
        assert page.run("document.querySelector('footer a').getAttribute('href')") == "/html?cpu=0"
        page.follow("document.querySelector('#chips button').click()")
        drawn(page)
        assert shown_functions(page) == flat_of(folder)
        tid = next(r["tid"] for r in threads if r["tid"] != r["pid"])  # main seldom has a sample, and its pid's number
        page.click_on("#views button:nth-child(2)")
        drawn(page)
        (headings, *rows), = tables_of(page)
        assert [int(r[headings.index("tid")]) for r in rows] == [r["tid"] for r in threads], rows
        page.run(f"[...document.querySelectorAll('#report td.name button')].find((b) => b.textContent === '{tid}').click()")
        page.until("document.querySelectorAll('#report tbody tr').length === 1")  # of this thread is all then
        assert page.run("document.getElementById('search').value") == f"tid:{tid}"
        page.search(f"tid:{tid} 200ms..500ms")
        drawn(page)
        span = [f"--{which}={page.run(f'document.getElementById({chr(34)}{which}{chr(34)}).value')}" for which in ("from", "to")]
        some = [json.loads(line) for line in printed(folder, "--report=threads", f"--tid={tid}", *span).splitlines()]
        (headings, *rows), = tables_of(page)
        assert [int(r[headings.index("self samples")].replace(",", "")) for r in rows] == [r["self_samples"] for r in some], (rows, some)
        link = page.run("location.href")
        page.click_on("#views button:nth-child(1)")
        assert shown_functions(page) == flat_of(folder, f"--tid={tid}", *span)
        open_view(page, link)
        assert tables_of(page) == [[headings, *rows]], "a view is a link"
        open_view(page, f"{s.base}/#search=200ms..500ms")
        steps = page.run("cpuperf.page.data.slice_ns")
        page.follow("document.getElementById('zoom-time').click()")
        drawn(page)
        assert page.run("document.getElementById('search').value") == "zoom:200ms..500ms" and page.run("cpuperf.page.data.slice_ns") < steps
        assert shown_functions(page) == flat_of(folder, "--from=200ms", "--to=500ms")
        open_view(page, f"{s.base}/#view=sandwich&function=start_thread")
        assert page.run("document.getElementById('pick').value") == "start_thread"
        open_view(page, f"{s.base}/#search=iteration:99&view=threads")
        assert page.run("document.getElementById('report').textContent").endswith("Nothing was sampled or counted here.")
        open_view(page, f"{s.base}/#search=cpu:x")
        assert page.run("document.querySelectorAll('#chips .wrong').length") == 1
        page.assert_quiet()
        assert all(u.startswith(s.base) for u in page.requests()), page.requests()
        for width, view in stride(itertools.product((485, 700, 1000, 1600), ("flame", "order", "sandwich", "threads", "summary")), 5):
            page.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
            open_view(page, f"{s.base}/#view={view}")
            assert page.run("document.documentElement.scrollWidth") <= width, (width, view)
            assert page.run("document.getElementById('fault').hidden"), (view, page.run("document.getElementById('fault').textContent"))
            assert not page.problems(), (view, page.problems())


with tempfile.TemporaryDirectory(prefix="cpuperf-test.") as SHARED, contextlib.ExitStack() as SERVERS:
    if browser.find():
        browser.program()  # before others: its shell takes only descriptors of one digit
    run_checks(globals())
