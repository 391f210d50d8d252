#!/usr/bin/env python3
"""--push: what receivers get is what the session has, by each interface's own schema; those that are slow, dead, full,
lying or others than they seem cost nothing but what is counted; secrets are nowhere else. CPUPERF, CPUPERF_PRINT,
DEAF and MIX name the programs.
"""
import collections
import csv
import functools
import glob
import gzip
import io
import itertools
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import tempfile
import time

import protos
from kit import CPUPERF, PRINT, finish, free_port, output, programs_missing, run, run_checks, skip, start, stride
from receiver import Answer, Reader, Receiver, PATHS
from sampled import deaf, event, is_root, may_measure_kernel

EVENTS = "cpu_clock@1000000,page_faults@1"
USER_EVENTS = [event("software:cpu_clock", rate=1000000), event("software:page_faults", rate=1, flags=["user"])]
SECRET = "0123456789abcdefSECRET"
HOST = os.uname().nodename


@functools.lru_cache
def events():
    """The options that sample a clock and page faults, of user mode alone where this user may not measure the kernel."""
    if may_measure_kernel():
        return "-e", EVENTS, "-g=fp"
    with open(f"{SHARED_FOLDER}/events.cpspec", "w", encoding="utf-8") as out:
        json.dump({"events": USER_EVENTS}, out)
    return f"--spec-file={SHARED_FOLDER}/events.cpspec", "-g=fp"


class Measured:
    """Known programs, of whose files nobody makes others meanwhile: one that computes now and then, and one whose
    children have page faults. Little of each, because senders take their time. options: of cpuperf, to measure them."""

    def __init__(self, of=None):
        self.of = of or events()

    def __enter__(self):
        scripts = "while :; do i=0; while [ $i -lt 1000 ]; do i=$((i+1)); done; sleep 0.02; done", "while :; do sleep 0.02; done"
        self.programs = [subprocess.Popen(["/bin/sh", "-c", s]) for s in scripts]  # pylint: disable=consider-using-with
        self.options = [*self.of, "--no-live", f"--pid={','.join(str(p.pid) for p in self.programs)}"]
        return self

    def __exit__(self, *_):
        for p in self.programs:
            p.kill()
            p.wait()


def record(folder, *options, name="session", nr=2, receiver=None, of=None, **how):
    """A session of iterations of 200 ms, and what the recorder says. Beside others a program may have had no CPU in
    one, of which nothing is pushed where both had none: another try, and what was pushed to the receiver goes."""
    while True:
        with Measured(of) as m:
            done = run(CPUPERF, *m.options, "-d", "200ms", "-n", str(nr), "-o", f"{folder}/{name}", *options, cwd=folder,
                       **how)
        text = output(PRINT, "--quiet", f"{folder}/{name}", "--report=flat", "--sort=iteration", "--output-format=csv")
        found = {(r["event"], r["iteration"]) for r in csv.DictReader(io.StringIO(text)) if int(r["self_samples"])}
        is_pushed = any(o.startswith("--push") for o in options)
        if len({i for _, i in found}) == nr and (is_pushed or len(found) == 2 * nr):
            return done
        assert "no permission" not in done.stderr, done.stderr
        print(f"an iteration without samples: {sorted(found)}", flush=True)
        shutil.rmtree(f"{folder}/spool", ignore_errors=True)
        if receiver:
            receiver.requests.clear()


@functools.lru_cache
def shared(nr):
    """A session of so many iterations, which no check changes."""
    record(SHARED_FOLDER, name=f"of_{nr}", nr=nr)
    return f"{SHARED_FOLDER}/of_{nr}"


def push(folder, url, *options, name="session", code=0, **how):
    """What became of the profiles of a session; the spool is the folder's."""
    if not any(o.startswith("--push-wait") for o in options):
        options += ("--push-wait=60s",)
    session = [] if "--push-waiting" in options else [os.path.join(folder, name)]
    text = output(PRINT, "--quiet", *session, f"--push={url}", f"--push-spool={folder}/spool", "--output-format=csv",
                  *options, code=code, **how)
    (row,) = csv.DictReader(io.StringIO(text))
    return {k: v if k == "why" else int(v) for k, v in row.items()}


def own(folder, iteration, name="session", code=0):
    """What the session says of an iteration: {(event, unit): {stack: weight}}, and the same of names of threads."""
    return own_of(os.path.join(folder, name), iteration, code)


@functools.lru_cache
def own_of(session, iteration, code):
    data = output(PRINT, "--quiet", session, "--output-format=pprof", f"--iteration={iteration}", text=False,
                  code=code)
    p = PPROF.Profile.FromString(gzip.decompress(data))
    functions = {f.id: p.text[f.name] for f in p.function}
    names = {x.id: [functions[line.function] for line in x.line] for x in p.location}
    types = [(p.text[t.type], p.text[t.unit]) for t in p.sample_type]
    weights = collections.defaultdict(collections.Counter)
    threads = collections.defaultdict(collections.Counter)
    for s in p.sample:
        comm = [p.text[x.text] for x in s.label if p.text[x.key] == "comm"]
        comm = "kworker" if comm and comm[0].startswith("kworker/") else comm[0] if comm else ""
        for t, v in zip(types[1::2], s.value[1::2]):
            if v:
                weights[t][tuple(n for i in s.location for n in names[i])] += v
                threads[t][comm] += v
    return dict(weights), dict(threads)


def compare_own(profile, folder, iteration, name="session", code=0):
    compare_same(profile, *own(folder, iteration, name, code), iteration)


def compare_same(profile, weights, threads, iteration):
    if ("cpu_clock", "nanoseconds") not in weights:
        print(f"iteration {iteration}: the programs had no CPU", flush=True)
    assert weights.keys() >= {k for k, v in profile.weights.items() if v}, (iteration, weights.keys(), profile.weights.keys())
    for key in weights:
        differ = [(s, weights[key][s], profile.weights[key][s]) for s in {**weights[key], **profile.weights[key]}
                  if weights[key][s] != profile.weights[key][s]]
        assert not differ, (iteration, key, len(differ), differ[:3])
    assert {k: v for k, v in profile.threads.items() if v} == threads, (iteration, profile.threads, threads)


def waiting(folder):
    return sorted(glob.glob(f"{folder}/spool/*/*.push"))


def check_interfaces(folder):
    session = shared(4)
    for interface in stride(PATHS, 1):
        with Receiver(interface) as r:
            done = push(folder, r.url, "--push-label=env=test", "--push-label=deployment.zone=a b", "--iteration=1-2",
                        name=session)
        assert done["sent"] == done["made"] == len(r.requests) == 2, (done, r.requests)
        assert done["sent_bytes"] == sum(len(x.body) for x in r.requests) and not done["why"], done
        profiles = [READER.read(interface, x) for x in r.requests]
        dots = "." if interface == "otlp" else "_"
        for i, p in enumerate(profiles):
            compare_own(p, folder, 1 + i, session)
            names = ("service.name", "host.name") if interface == "otlp" else ("service_name", "host")
            wanted = {names[0]: "cpuperf", names[1]: HOST, "env": "test", f"deployment{dots}zone": "a b"}
            if interface in ("pyroscope", "parca"):
                wanted["__name__"] = "cpuperf"
            assert p.labels == wanted, (interface, p.labels)
            assert abs(p.duration_ns - 2e8) < 3e9 and p.start_ns > 1.5e18, p
        assert profiles[0].start_ns + profiles[0].duration_ns <= profiles[1].start_ns + 10**6
        if interface in ("pyroscope", "otlp"):
            assert profiles[0].id != profiles[1].id
    assert not waiting(folder)
    with Receiver("pyroscope") as r:
        push(folder, f"{r.url}/prefix/", "--push-name=my service", "--iteration=1", name=session)
    (request,) = r.requests
    assert request.path == "/prefix/push.v1.PusherService/Push", request.path
    assert READER.pyroscope(request).labels["service_name"] == "my service"


def check_file(folder):
    """The format of OpenTelemetry as a file is the same message."""
    session = shared(1)
    data = output(PRINT, "--quiet", session, "--output-format=otlp", text=False)
    with Receiver("otlp") as r:
        push(folder, r.url, name=session)
    compare_own(READER.read_otlp(r.requests[0]), folder, 0, session)
    assert READER.otlp_data(data).weights == READER.read_otlp(r.requests[0]).weights


def check_job(folder):
    """Each host of a job has profiles of its own."""
    sessions = {"a": shared(4), "b": shared(1)}
    for host, session in sessions.items():
        shutil.copytree(session, f"{folder}/job/{host}")
        with open(f"{folder}/job/{host}/host.json", "w", encoding="utf-8") as out:
            json.dump({"version": 1, "host": host, "status": "ok"}, out)
    for interface in stride(("pyroscope", "otlp"), 1):
        with Receiver(interface) as r:
            done = push(folder, r.url, name="job")
        assert done["sent"] == done["made"] == len(r.requests) == 5, done
        key = "host.name" if interface == "otlp" else "host"
        for (host, i), request in zip([("a", 0), ("a", 1), ("a", 2), ("a", 3), ("b", 0)], r.requests):
            profile = READER.read(interface, request)
            assert profile.labels[key] == host, profile.labels
            compare_own(profile, folder, i, sessions[host])
    own(folder, 0, "job")  # of all of it together


def check_as_they_come(folder):
    """Of a running session whose receiver is slow: each iteration arrives once, in order; of a command, when it ends."""
    with Receiver("pyroscope", [Answer(type="application/proto", wait=1)]) as r:
        done = record(folder, f"--push={r.url}", f"--push-spool={folder}/spool", "--push-wait=60s", nr=4, receiver=r)
        assert "4 profile(s) sent to pyroscope at 127.0.0.1" in done.stderr, done.stderr
        profiles = [READER.pyroscope(x) for x in r.requests]
        assert len(profiles) == len({p.id for p in profiles}) == 4, [p.id for p in profiles]
        for i, p in enumerate(profiles):
            compare_own(p, folder, i)
        run(CPUPERF, f"--push={r.url}", f"--push-spool={folder}/spool", "--push-wait=60s", "-o", f"{folder}/command",
            *events(), "--", "sh", "-c", "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done", cwd=folder)
        p = READER.pyroscope(r.requests[4])
        assert len(r.requests) == 5 and p.labels["service_name"] == "sh", (len(r.requests), p.labels)
        compare_own(p, folder, 0, "command")
        with Measured() as m:
            held = run(CPUPERF, *m.options, f"--push={r.url}", f"--push-spool={folder}/spool", "--push-wait=60s", "-o", "-",
                       "-d", "1s", "-n", "2", cwd=folder)  # in each of which they have a CPU
        assert len(r.requests) == 7, held.stderr


def check_dead(folder):
    """Measuring goes on, and what waits survives the program; the folder is the user's own."""
    port = free_port()
    url = f"otlp+http://127.0.0.1:{port}"
    done = record(folder, f"--push={url}", f"--push-spool={folder}/spool", "--push-wait=0s", nr=3)
    assert "3 wait" in done.stderr and "0 sent" in done.stderr, done.stderr
    said = [line for line in done.stderr.splitlines() if "onnect" in line]
    assert 1 <= len(said) <= 2, said  # at the first failure, and at the end
    (inner,) = glob.glob(f"{folder}/spool/*")
    for path in (f"{folder}/spool", inner):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o700, path
    files = waiting(folder)
    assert len(files) == 3 and all(stat.S_IMODE(os.stat(x).st_mode) == 0o600 for x in files), files
    wanted = [own(folder, i) for i in range(3)]
    shutil.rmtree(f"{folder}/session")
    assert push(folder, url, "--push-waiting", "--push-wait=0s", code=1)["waiting"] == 3
    with Receiver("otlp", port=port) as r:
        done = push(folder, url, "--push-waiting")
    assert (done["sent"], done["waiting"], len(r.requests)) == (3, 0, 3), done
    for i, request in enumerate(r.requests):
        compare_same(READER.read_otlp(request), *wanted[i], i)
    assert not glob.glob(f"{folder}/spool/*/*"), "nothing waits, and nothing is remembered"


def check_one_warning(folder):
    """A failure that lasts is said once: runs in which it is too early to try again end no failure."""
    with Measured() as m, Receiver("otlp", [Answer(503, headers={"Retry-After": "1"})] * 100) as r:
        p = start(folder, *m.options, "-d", "300ms", "-n", "1000", "-o", f"{folder}/session",
                  f"--push={r.url}", f"--push-spool={folder}/spool", "--push-wait=0s")
        while p.poll() is None and len(r.requests) < 3:
            time.sleep(0.05)
        p.terminate()
        _, err = finish(p, None)
    said = [line for line in err.splitlines() if "status is 503" in line]
    assert len(said) == 2, said  # at the first failure, and at the end


def check_silent(folder):
    """A receiver that never answers is waited for no longer than was asked for; what waits remains."""
    with Measured() as m, Receiver("pyroscope", [Answer(wait=3600)] * 100) as r:
        p = start(folder, *m.options, "-d", "500ms", "-n", "1000", "-o", f"{folder}/session",
                  f"--push={r.url}", f"--push-spool={folder}/spool", "--push-wait=1s")
        while p.poll() is None and not r.requests:
            time.sleep(0.05)
        p.terminate()
        _, err = finish(p, None)
        assert ": 0 sent, " in err and "did not answer until the end" in err, err
        assert len(r.requests) == 1 and waiting(folder), "nothing is tried after the wait"
        done = push(folder, r.url, "--push-waiting", "--push-wait=2s", code=1)
    (limit_ms,) = re.findall(r"timed out after (\d+) milliseconds", done["why"])
    assert done["waiting"] == len(waiting(folder)) and int(limit_ms) < 30000, done


def check_state_folder(folder):
    """The default place of what waits is made; if it cannot be, that is said."""
    url = f"--push=pyroscope+http://127.0.0.1:{free_port()}"
    state = {**os.environ, "XDG_STATE_HOME": f"{folder}/a/b"}
    record(folder, url, "--push-wait=0s", env=state, nr=1)
    assert glob.glob(f"{folder}/a/b/cpuperf/push/*/*.push")
    assert stat.S_IMODE(os.stat(f"{folder}/a/b").st_mode) == stat.S_IMODE(os.stat(f"{folder}/a").st_mode) == 0o700
    with open(f"{folder}/file", "wb"):
        pass
    err = record(folder, url, "--push-wait=0s", env={**state, "XDG_STATE_HOME": f"{folder}/file/b"}, nr=1).stderr
    assert f"there is no folder for what waits: {folder}/file/b/cpuperf: Not a directory" in err, err
    assert ": hint: " not in err and ":   hint" not in err, err


def check_surveyed(folder):
    """Iterations wait for the survey, which here waits for a file of another process, as who wakes the target needs it:
    without it mappings are missing."""
    if not is_root() or programs_missing():
        print("skip: surveyed: needs root to mount, and programs in the kernel")
        return
    wakers = {"events": [*USER_EVENTS, event("sched:off_cpu_time", rate=1000000, flags=["callchain", "waker"])]}
    with open(f"{folder}/wakers.cpspec", "w", encoding="utf-8") as out:
        json.dump(wakers, out)
    with deaf(folder, "overlay") as (number, why), Receiver("parca") as r:
        if not number:
            print(f"skip: surveyed: {why}")
            return
        done = record(folder, f"--push={r.url}", f"--push-spool={folder}/spool", "--push-wait=60s", receiver=r,
                      of=(f"--spec-file={folder}/wakers.cpspec", "-g=fp"))
    assert "do not answer" in done.stderr and len(r.requests) == 2, (done.stderr, len(r.requests))
    for i, request in enumerate(r.requests):
        compare_own(READER.parca(request), folder, i)


def check_killed(folder):
    """A recorder that is killed leaves what waits."""
    port = free_port()
    with Measured() as m:
        p = start(folder, *m.options, "-d", "200ms", "-n", "1000", "-o", f"{folder}/session",
                  f"--push=parca+http://127.0.0.1:{port}", f"--push-spool={folder}/spool")
        while p.poll() is None and len(waiting(folder)) < 3:
            time.sleep(0.05)
        p.kill()
        p.communicate()
    nr = len(waiting(folder))
    assert nr >= 3, nr
    with Receiver("parca", port=port) as r:
        done = push(folder, f"parca+http://127.0.0.1:{port}", "--push-waiting")
    assert done["sent"] == len(r.requests) >= nr and not waiting(folder), (done, nr)
    compare_own(READER.parca(r.requests[0]), folder, 0, code=None)  # the session says that it was killed


def check_failures(folder):
    """What is repeated, and what is not."""
    session = shared(1)
    good = Answer(type="application/proto")
    repeated = [Answer(500), Answer(503, "text/html", b"<html>busy"), Answer(408), Answer(429),
                Answer(200, "text/html", b"<html>Please log in"), Answer(200, ""), Answer(closes=True),
                Answer(200, "application/proto", b"x" * 100000)]
    for answer in stride(repeated, 2):
        with Receiver("pyroscope", [answer, good]) as r:
            done = push(folder, r.url, name=session)
        assert (done["sent"], done["failures"], done["waiting"], len(r.requests)) == (1, 1, 0, 2), (answer, done)
        assert r.requests[0].body == r.requests[1].body and done["why"], done
        compare_own(READER.pyroscope(r.requests[1]), folder, 0, session)
    for answer in stride((Answer(400, "text/plain", b"no such tenant\nmore"), Answer(401), Answer(404), Answer(413),
                          Answer(304)), 1):
        with Receiver("pyroscope", [answer, good]) as r:
            done = push(folder, r.url, code=1, name=session)
        assert (done["sent"], done["refused"], done["waiting"], len(r.requests)) == (0, 1, 0, 1), (answer, done)
        assert f"status is {answer.status}" in done["why"], done
        assert not answer.body or done["why"].endswith("no such tenant"), done
    with Receiver("pyroscope") as other, Receiver("pyroscope", [Answer(s, headers={"Location": ""}) for s in ()]) as r:
        r.answers = [Answer(307, headers={"Location": f"http://127.0.0.1:{other.port}{PATHS['pyroscope']}"})]
        done = push(folder, r.url, code=1, name=session)
        assert done["refused"] == 1 and not other.requests, (done, other.requests)
    with Receiver("pyroscope", [Answer(429, headers={"Retry-After": "3"}), good]) as r:
        push(folder, r.url, name=session)
    assert r.requests[1].time - r.requests[0].time >= 3, "Retry-After"
    with Receiver("pyroscope", [Answer(503, headers={"Retry-After": "1000"}), good]) as r:
        done = push(folder, r.url, code=1, name=session)
    assert (done["waiting"], len(r.requests)) == (1, 1), "it would be too late, and is not waited for"
    with Receiver("pyroscope", port=r.port) as r:
        done = push(folder, r.url, "--push-waiting", "--push-wait=0s", code=1)
        assert (done["waiting"], len(r.requests)) == (1, 0), "another program obeys it, too"
        assert done["why"] == "the last try failed: the receiver's status is 503", done


def check_otlp_answers(folder):
    kind = "application/x-protobuf"
    answers = ((b"", 1, 0, 1), (b"\x0a\x00", 1, 0, 1), (READER.rejection(0, "a warning"), 1, 0, 1),
               (READER.rejection(1, "too\tlarge"), 0, 1, 1), (b"\x0a\xff", 1, 0, 2), (b"garbage", 1, 0, 2),
               (b"\x80" * 20, 1, 0, 2))
    for body, sent, refused, requests in stride(answers, 2):
        with Receiver("otlp", [Answer(200, kind, body)]) as r:
            done = push(folder, r.url, code=refused, name=shared(1))
        assert (done["sent"], done["refused"], len(r.requests)) == (sent, refused, requests), (body, done)
        assert not refused or done["why"] == "the receiver rejected profiles: too?large", done


def check_limits(folder):
    """What waits is bounded; the oldest goes first, and is counted."""
    url = f"pyroscope+http://127.0.0.1:{free_port()}"
    session = shared(4)
    everything = push(folder, url, "--push-wait=0s", name=session, code=1)
    assert everything["waiting"] == 4, everything
    newest, sizes = waiting(folder)[-2:], [os.path.getsize(x) for x in waiting(folder)]
    limit = sum(sizes[-2:])
    done = push(folder, url, "--push-waiting", "--push-wait=0s", f"--push-limit=bytes:{limit}", code=1)
    assert (done["full"], done["waiting"]) == (2, 2) and waiting(folder) == newest, (done, waiting(folder))
    done = push(folder, url, "--push-wait=0s", f"--push-limit=bytes:{limit}", name=session, code=1)
    assert done["full"] + done["waiting"] == 6, done
    assert sum(os.path.getsize(x) for x in waiting(folder)) <= limit
    done = push(folder, url, "--push-wait=0s", "--iteration=0", "--push-limit=bytes:100", name=session,
                code=1)
    assert done["waiting"] == 0 and not waiting(folder), done
    push(folder, url, "--push-wait=0s", name=session, code=1)
    with open(waiting(folder)[0], "r+b") as f:
        f.truncate(100)
    with open(waiting(folder)[1], "r+b") as f:
        f.write(b"garbage")
    with Receiver("pyroscope", port=int(url.rpartition(":")[2])) as r:
        done = push(folder, url, "--push-waiting", code=1)
    assert (done["sent"], done["damaged"], done["waiting"]) == (2, 2, 0), done
    push(folder, url, "--push-wait=0s", name=session, code=1)
    time.sleep(1.1)
    done = push(folder, url, "--push-waiting", "--push-wait=0s", "--push-limit=seconds:1", code=1)
    assert (done["old"], done["waiting"]) == (4, 0) and not waiting(folder), (done, len(r.requests))


def check_missing(folder):
    """Iterations that are not there any more are counted."""
    session = shared(4)
    with Receiver("pyroscope") as r:
        done = push(folder, r.url, "--iteration=3-6", name=session, code=1)
    assert (done["sent"], done["missing"]) == (1, 3), done
    compare_own(READER.pyroscope(r.requests[0]), folder, 3, session)
    os.chmod(f"{folder}/spool", 0o755)
    refused = run(PRINT, session, f"--push={r.url}", f"--push-spool={folder}/spool", code=1)
    assert "others may enter this folder" in refused.stderr, refused.stderr


def certificate(folder, name, alternative, *by):
    """A certificate and its key in one file: for a name, by itself or by an authority."""
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{folder}/{name}.key", "-out",
        f"{folder}/{name}.crt", "-days", "2", "-subj", f"/CN={name}", *(["-addext", f"subjectAltName={alternative}"]
                                                                       if alternative else []), *by)
    with open(f"{folder}/{name}.pem", "w", encoding="ascii") as out:
        for part in ("key", "crt"):
            with open(f"{folder}/{name}.{part}", encoding="ascii") as f:
                out.write(f.read())
    return f"{folder}/{name}.pem"


def check_certificates(folder):
    if not shutil.which("openssl"):
        print("skip: certificates: no openssl here")
        return
    session = shared(1)
    right = certificate(folder, "right", "IP:127.0.0.1,DNS:localhost")
    wrong = certificate(folder, "wrong", "DNS:example.org")
    with Receiver("pyroscope", certificate=right) as r:
        for options in ((), (f"--push-ca={folder}/wrong.crt",)):
            done = push(folder, r.url, "--push-wait=0s", *options, name=session, code=1)
            assert done["sent"] == 0 and "certificate" in done["why"].lower() and not r.requests, done
            shutil.rmtree(f"{folder}/spool")
        done = push(folder, r.url, f"--push-ca={folder}/right.crt", name=session)
        assert done["sent"] == 1 and len(r.requests) == 1, done
        compare_own(READER.pyroscope(r.requests[0]), folder, 0, session)
    with Receiver("pyroscope", certificate=wrong) as r:
        done = push(folder, r.url, "--push-wait=0s", f"--push-ca={folder}/wrong.crt", name=session,
                    code=1)
        assert done["sent"] == 0 and not r.requests, done


def write_secret(path, text, mode=0o600):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)
    os.chmod(path, mode)


def check_credentials(folder):
    """Sent, and nowhere else."""
    path = f"{folder}/credentials"
    session = shared(1)
    programs = ((PRINT, session), (CPUPERF, "-F", "99", "-d", "1ms"))
    for mode, program in stride(itertools.product((0o644, 0o640, 0o604, 0o660), programs), 3):
        write_secret(path, f"bearer {SECRET}\n", mode)
        done = run(*program, "--push=pyroscope+https://127.0.0.1:1", f"--push-credentials={path}", code=2, cwd=folder)
        assert "others may read it" in done.stderr and SECRET not in done.stderr, done.stderr
    for text in ("", SECRET, f"token {SECRET}", "basic nocolon", f"bearer {SECRET} more", f"bearer {SECRET}\x01"):
        write_secret(path, text)
        done = run(PRINT, session, "--push=pyroscope+https://h:1", f"--push-credentials={path}", code=2)
        assert "neither bearer TOKEN" in done.stderr and SECRET not in done.stderr, (text, done.stderr)
    headers = ((f"bearer {SECRET}\n", f"Bearer {SECRET}"), (f"basic user:{SECRET}\n", "Basic "))
    for text, header in stride(headers, 1):
        write_secret(path, text)
        with Receiver("pyroscope") as r:
            done = record(folder, f"--push={r.url}", f"--push-credentials={path}", f"--push-spool={folder}/spool",
                          "--push-wait=60s", "--verbose", f"--log-file={folder}/log", name="pushed", nr=2, receiver=r)
        assert len(r.requests) == 2 and all(x.headers["Authorization"].startswith(header) for x in r.requests), r.requests
        assert SECRET not in done.stdout + done.stderr
        os.unlink(path)
        found = subprocess.run(["grep", "-rla", SECRET, folder], stdout=subprocess.PIPE, text=True, check=False)
        assert not found.stdout, found.stdout
    write_secret(path, f"bearer {SECRET}\n")
    with Receiver("pyroscope", [Answer(500)] * 100) as r:  # what a process looks like while it waits
        with subprocess.Popen([PRINT, "--quiet", session, f"--push={r.url}", f"--push-credentials={path}",
                               f"--push-spool={folder}/spool", "--push-wait=60s"], stdout=subprocess.DEVNULL) as p:
            while not r.requests:
                time.sleep(0.02)
            for name in ("cmdline", "environ"):
                with open(f"/proc/{p.pid}/{name}", "rb") as f:
                    assert SECRET.encode() not in f.read(), name
            p.kill()


def check_refused(folder):
    """Before anything is measured, by both programs."""
    wrong = {"http://h": "begins with no interface", "pyroscope+ftp://h": "neither https",
             "pyroscope+http://example.org": "not encrypted", "otlp+http://128.0.0.1": "not encrypted",
             "pyroscope+https://": "host and port", "pyroscope+https://h:0": "host and port",
             "pyroscope+https://h:65536": "host and port", "pyroscope+https://h:1x": "host and port",
             "pyroscope+https://[::1": "host and port", "pyroscope+https://h/?a=b": "query",
             "pyroscope+https://h/#a": "query", "pyroscope+https://h/a b": "query",
             "pyroscope+https://h/\n": "query", "pyroscope+https://" + "h" * 300: "host and port",
             "pyroscope+https://h/" + "h" * 2000: "too long", f"pyroscope+https://user:{SECRET}@h": "user or a password"}
    programs = ((PRINT, folder), (CPUPERF, "-F", "99", "-d", "1ms"))
    for (url, why), program in stride(itertools.product(wrong.items(), programs), 8):
        done = run(*program, f"--push={url}", code=2, cwd=folder)
        assert why in done.stderr and SECRET not in done.stderr, (url, done.stderr)
    good = "--push=pyroscope+https://[::1]:4040/a"
    options = (("--push-label=a", "not KEY=VALUE"), ("--push-label==a", "not KEY=VALUE"),
               ("--push-label=__a=b", "begins with __"), ("--push-label=a b=c", "not KEY=VALUE"),
               ("--push-label=host=c", "have a label of this name"), ("--push-label=a=\x01", "not KEY=VALUE"),
               ("--push-limit=x", "not a limit"), ("--push-limit=bytes:1,bytes:2", "not a limit"),
               ("--push-wait=x", "not a time"), ("--push-name=", "not a text"),
               ("--push-credentials=/nonexistent", "No such file"))
    for option, why in stride(options, 5):
        done = run(CPUPERF, "-F", "99", "-d", "1ms", good, option, code=1 if "=/" in option else 2, cwd=folder)
        assert why in done.stderr, (option, done.stderr)
    many = [f"--push-label=k{i}=v" for i in range(17)]
    assert "more than 16" in run(PRINT, folder, good, *many, code=2).stderr
    assert "require --push" in run(PRINT, folder, "--push-name=a", code=2).stderr
    assert "no event is sampled" in run(CPUPERF, "-e", "task_clock", "-d", "1ms", good, code=2, cwd=folder).stderr
    assert "exclusive" in run(PRINT, folder, good, "--output-format=pprof", code=2).stderr
    assert not os.listdir(folder), os.listdir(folder)


def check_metrics(folder):
    """What became of the profiles is served."""
    with Receiver("pyroscope", [Answer(400)]) as r, Measured() as m:
        at = f"{folder}/socket"
        p = start(folder, *m.options, "-d", "200ms", "-n", "1000", f"--push={r.url}", f"--push-spool={folder}/spool", f"--metrics-listen=unix:{at}", "-o", f"{folder}/session")
        text = ""
        while p.poll() is None and not re.search(r'^cpuperf_push_profiles_total\{result="sent"\} [1-9]', text, re.M):
            time.sleep(0.1)
            text = scrape(at)
        assert 'cpuperf_push_profiles_total{result="refused"} 1\n' in text, text
        assert re.search(r"^cpuperf_push_cpu_seconds_total 0*\.?\d*[1-9]", text, re.M), text
        p.terminate()
        _, err = finish(p, None)
        assert "status is 400" in err and "1 refused" in err, err


def scrape(at):
    """"": nobody listens yet."""
    with socket.socket(socket.AF_UNIX) as s:
        if s.connect_ex(at):
            return ""
        s.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        return b"".join(iter(lambda: s.recv(65536), b"")).decode()


protos.need()
READER, PPROF = Reader(), protos.load("pprof")
with tempfile.TemporaryDirectory(prefix="cpuperf-test.") as SHARED_FOLDER:
    run_checks(globals())
