#!/usr/bin/env python3
"""--output-format=pprof: is it a profile.proto of known fields (protoc), does `go tool pprof` read it
as it is, and does it say what the reports say: weights of functions those of flat, of threads those
of threads? Addresses are held against the symbols of the program by nm, build-ids against readelf.
"""
import collections
import csv
import glob
import gzip
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import protos  # noqa: E402
import kit
import sampled  # noqa: E402
from kit import output, PRINT, run
from sampled import event  # noqa: E402

MIX = os.environ["MIX"]
HERE = os.path.dirname(os.path.abspath(__file__))
EVENTS = [event("software:cpu_clock", rate=1000000, flags=["callchain"]),
          event("software:page_faults", rate=1, flags=["callchain"])]
KERNEL = "[kernel.kallsyms]"


def show(folder, *args, **how):
    return kit.show(folder, *args, text=False, **how)


def rows(folder, *args):
    text = show(folder, "--output-format=csv", "--top=0", *args).decode()
    return list(csv.DictReader(io.StringIO(text)))


def record(folder, programs, *args, **keys):
    try:
        sampled.finish_when(sampled.start(folder, EVENTS, *args, num_iterations=10000, **keys), folder, programs, 0.3)
    finally:
        for p in programs:
            p.kill()
            p.wait()


class Profile:
    """The message, with its numbers looked up."""

    def __init__(self, messages, data):
        self.data = gzip.decompress(data)
        protos.check_known("pprof", "Profile", self.data)
        self.p = p = messages.Profile.FromString(self.data)
        self.text = p.text
        self.types = [(self.text[t.type], self.text[t.unit]) for t in p.sample_type]
        self.events = [t for t, _ in self.types[1::2]]
        self.locations = {x.id: x for x in p.location}
        self.functions = {x.id: x for x in p.function}
        self.mappings = {x.id: x for x in p.mapping}
        self.check()

    def check(self):
        """What any profile must be."""
        p = self.p
        assert self.text[0] == "" and len(set(self.text)) == len(self.text)
        for of in (p.location, p.function, p.mapping):
            assert sorted(x.id for x in of) == list(range(1, len(of) + 1))
        for name, (samples, weight) in zip(self.events, zip(self.types[::2], self.types[1::2])):
            assert samples == (f"{name}_samples", "count") and weight[1], self.types
        assert self.text[p.default_sample_type] in self.events
        for s in p.sample:
            assert s.location and all(i in self.locations for i in s.location)
            assert len(s.value) == len(self.types) and any(s.value)
        used = {i for s in p.sample for i in s.location}
        assert used == set(self.locations), "locations that no sample has"
        assert {x.function for i in p.location for x in i.line} == set(self.functions)
        for f in p.function:  # what has both is cut by readers
            assert f.system_name != f.name or not re.search(r"[][<>():]", self.text[f.name]), f
        self.check_mappings()
        self.check_places()

    def check_mappings(self):
        ranges = sorted((m.start, m.limit) for m in self.p.mapping)
        assert all(start < limit for start, limit in ranges)
        assert all(a[1] <= b[0] for a, b in zip(ranges, ranges[1:])), "they overlap"
        assert all(m.has_functions and self.text[m.file] for m in self.p.mapping)

    def check_places(self):
        """A place is one location, whatever process was there."""
        places = collections.Counter()
        for x in self.p.location:
            assert x.line and all(line.function in self.functions for line in x.line)
            if x.mapping:
                m = self.mappings[x.mapping]
                assert m.start <= x.address < m.limit, (hex(x.address), m)
            places[x.mapping, x.address, tuple((y.function, y.line) for y in x.line)] += 1
        assert max(places.values()) == 1, places.most_common(1)

    def names(self, location):
        """Of its functions, the innermost first."""
        return [self.text[self.functions[y.function].name] for y in location.line]

    def labels(self, sample):
        out = {}
        for x in sample.label:
            assert bool(x.text) != bool(x.unit), (x, self.text[x.key])
            assert self.text[x.key] not in out, sample
            out[self.text[x.key]] = self.text[x.text] if x.text else x.number
        return out

    def by(self, key):
        """(event, key of a sample): [samples, weight]."""
        out = collections.defaultdict(lambda: [0, 0])
        for s in self.p.sample:
            for i, name in enumerate(self.events):
                if s.value[2 * i]:
                    out[name, key(s)][0] += s.value[2 * i]
                    out[name, key(s)][1] += s.value[2 * i + 1]
        return dict(out)

    def by_labels(self, *keys):
        return self.by(lambda s: tuple(str(self.labels(s).get(k, "")) for k in keys))

    def totals(self):
        return {name: w for (name, _), w in self.by(lambda s: None).items()}


def export(messages, folder, *args, **keys):
    return Profile(messages, show(folder, "--output-format=pprof", *args, **keys))


def expected(of, *keys):
    """The same of rows of a report."""
    out = collections.defaultdict(lambda: [0, 0])
    for r in of:
        at = out[r["event"], tuple(r[k] for k in keys)]
        at[0] += int(r["self_samples"])
        at[1] += int(r["self_count"])
    return {k: v for k, v in out.items() if v[0]}


def check_names(folder, profile, *args):
    """Functions have what they have in the report."""
    found = profile.by(lambda s: (profile.names(profile.locations[s.location[0]])[0],))
    assert found == expected(rows(folder, "--report=flat", *args), "function")
    check_callers(folder, profile, *args)


def check_labels(folder, profile, *args):
    """Threads, CPUs and iterations too."""
    threads = profile.by_labels("pid", "tid", "comm")
    assert threads == expected(rows(folder, "--report=threads", *args), "pid", "tid", "comm")
    for key in ("cpu", "iteration"):
        assert profile.by_labels(key) == \
            expected(rows(folder, "--report=flat", f"--sort={key}", *args), key), key


def check_callers(folder, profile, *args):
    """A function's total is that of the stacks that it is in."""
    found = collections.Counter()
    for s in profile.p.sample:
        inside = {n for i in s.location for n in profile.names(profile.locations[i])}
        for i, name in enumerate(profile.events):
            for function in inside if s.value[2 * i] else ():
                found[name, function] += s.value[2 * i + 1]
    totals = collections.defaultdict(list)
    for r in rows(folder, "--report=flat", *args):
        totals[r["event"], r["function"]].append(int(r["total_count"]))
    for key, weights in totals.items():
        # one name in several objects: a stack may have both
        own = found.pop(key)
        assert max(weights) <= own <= sum(weights), (key, own, weights)
    assert not found


def check_addresses(profile):
    """Places of the program are in the functions that nm has there; none is its main one twice."""
    program, found = sampled.Program(MIX), set()
    mapping, = (m for m in profile.p.mapping if profile.text[m.file] == program.path)
    for x in profile.p.location:
        if x.mapping != mapping.id:
            continue
        at = sampled.Mapping(0, mapping.start, mapping.limit - mapping.start, 0, 5, program.path, 0)
        names = profile.names(x)
        if names[0].startswith("["):
            continue
        assert program.function(at, x.address) == names[-1], (hex(x.address), names)
        found.add(names[-1])
    assert {"work_a", "work_b", "work_c", "run", "thread"} <= found, found
    if sampled.have("readelf"):
        notes = output("readelf", "-n", MIX)
        build_id, = re.findall("Build ID: ([0-9a-f]+)", notes)
        assert profile.text[mapping.build_id] == build_id
    return mapping


def check_kernel(profile):
    kernel = [m for m in profile.p.mapping if profile.text[m.file] == KERNEL]
    assert len(kernel) <= 1
    for x in profile.p.location:
        if kernel and x.mapping == kernel[0].id:
            assert x.address >> 63 and len(x.line) == 1
    return kernel


def check_words(profile, before, after):
    p, text = profile.p, profile.text
    assert before <= p.time_nanos <= after
    assert 10**8 <= p.duration_nanos <= after - before, p.duration_nanos
    assert (text[p.period_type.type], text[p.period_type.unit]) == ("cpu_clock", "nanoseconds")
    assert p.period == 1000000 and text[p.default_sample_type] == "cpu_clock"
    assert profile.types == [("cpu_clock_samples", "count"), ("cpu_clock", "nanoseconds"),
                             ("page_faults_samples", "count"), ("page_faults", "faults")]
    comments = [text[i] for i in p.comment]
    assert any('a "name", odd' in c for c in comments), comments
    assert any(c.startswith(f"host {os.uname().nodename}") for c in comments), comments
    samples = profile.totals()["cpu_clock"][0]
    assert any(c.startswith(f"cpu_clock: {samples:,} sample") for c in comments), comments


# ---- others' programs

def find_go():
    found = [shutil.which("go"), *sorted(glob.glob("/usr/lib/go-*/bin/go"))]
    return next((g for g in found if g), None)


class Pprof:
    def __init__(self, go, folder):
        self.go = go
        self.environment = {"HOME": folder, "GOCACHE": f"{folder}/cache", "GOPATH": f"{folder}/go",
                            "GOFLAGS": "", "PPROF_TMPDIR": folder}

    def __call__(self, *args, symbolize="none"):
        done = subprocess.run([self.go, "tool", "pprof", f"-symbolize={symbolize}", *args],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, **self.environment}, check=False)
        assert done.returncode == 0, (args, done.stderr)
        odd = [line for line in done.stderr.splitlines()
               if not re.match("Generating|Main binary|tagfocus:Interpreted|Some binary", line)]
        assert not odd, odd
        return done.stdout

    def top(self, path, *args, **keys):
        """function: (flat, cum), in the smallest unit."""
        text = self("-top", "-nodecount=1000000", "-nodefraction=0", "-unit=ns", *args, path, **keys)
        head, table = text.split("flat%", 1)
        out = {}
        for line in table.splitlines()[1:]:
            flat, _, _, cumulated, _, name = line.split(None, 5)
            out[name.removesuffix(" (inline)").removesuffix(" (partial-inline)")] = tuple(
                int(re.sub("[a-z]", "", n)) for n in (flat, cumulated))
        return head, out


def check_pprof(folder, path, profile, pprof):
    for i, (name, unit) in enumerate(profile.types):
        # as it does by itself, it makes names readable, which they are
        head, top = pprof.top(path, f"-sample_index={name}", symbolize="local")
        flat, cumulated = collections.Counter(), collections.Counter()
        for s in profile.p.sample:
            flat[profile.names(profile.locations[s.location[0]])[0]] += s.value[i]
            for n in {n for x in s.location for n in profile.names(profile.locations[x])}:
                cumulated[n] += s.value[i]
        assert f"Type: {name}\n" in head
        assert {n: t for n, t in top.items() if any(t)} == \
            {n: (flat[n], cumulated[n]) for n in cumulated if cumulated[n]}, name
    tree, raw = pprof("-tree", path), pprof("-raw", path)
    assert "work_a" in tree and "Comment: host " in raw and os.path.realpath(MIX) in raw
    assert "PeriodType: cpu_clock nanoseconds\nPeriod: 1000000\n" in raw
    for form in ("pprof.again", "pprof.third"):  # what it writes of it says the same
        pprof("-proto", f"-output={folder}/{form}", path)
        assert pprof.top(f"{folder}/{form}")[1] == pprof.top(path)[1]
        path = f"{folder}/{form}"
    for key in ("pid", "cpu", "comm", "iteration"):
        check_focus(path, profile, pprof, key)


def check_focus(path, profile, pprof, key):
    """By labels, of the heaviest: a number as it is, a name as a regular expression."""
    weights = [(weight, value) for (name, (value,)), (_, weight) in profile.by_labels(key).items()
               if name == "cpu_clock" and value]
    for weight, value in sorted(weights, reverse=True)[:2]:
        wanted = f"^{re.escape(value)}$" if key == "comm" else value
        top = pprof.top(path, f"-tagfocus={key}={wanted}")[1]
        assert sum(flat for flat, _ in top.values()) == weight, (key, value)


# ---- inlined functions and lines

def compile_cc(path):
    for compiler in (os.environ.get("CXX", "c++"), "clang -x c++"):
        words = compiler.split()
        if shutil.which(words[0]) and subprocess.run(
                [*words, "-O2", "-g", "-fno-omit-frame-pointer", "-fno-rtti", f"{HERE}/chains.cc", "-o", path],
                stderr=subprocess.PIPE, check=False).returncode == 0:
            return True
    print("  skip: inlined functions: no compiler of C++ here")
    return False


def check_inlined(messages, folder):
    program = f"{folder}/chains-cc"
    if not compile_cc(program):
        return
    os.mkdir(f"{folder}/cc")
    child = subprocess.Popen([program, "grid", "60000"])
    record(f"{folder}/cc", [child], "--duration=300ms")
    args = [f"--pid={child.pid}", "--event=cpu_clock", "--inline", "--lines"]
    profile = export(messages, f"{folder}/cc", *args)
    found = [x for x in profile.p.location if len(x.line) > 1]
    chain = ["geo::step(unsigned long)", "geo::row(unsigned long)",
             "geo::Grid<int>::fill(unsigned long)"]
    inlined = [x for x in found if [n.split("(")[0] for n in profile.names(x)] ==
               [n.split("(")[0] for n in chain]]
    assert inlined, [profile.names(x) for x in found]
    for x in inlined:
        functions = [profile.functions[y.function] for y in x.line]
        assert all(profile.text[f.file].endswith("chains.cc") for f in functions)
        assert all(y.line for y in x.line)
        assert profile.text[functions[-1].system_name].startswith("_ZN3geo4GridIiE4fillEm")
        assert profile.text[functions[-1].name].startswith("geo::Grid<int>::fill")
    m = profile.mappings[inlined[0].mapping]
    assert m.has_inlined and m.has_files and m.has_lines
    assert profile.text[m.file] == os.path.realpath(program)
    flat = expected(rows(f"{folder}/cc", "--report=flat", *args[:-1]), "function")
    assert profile.by(lambda s: (profile.names(profile.locations[s.location[0]])[0],)) == flat
    plain = export(messages, f"{folder}/cc", *args[:2])
    assert all(len(x.line) == 1 and not x.line[0].line for x in plain.p.location)
    assert plain.totals() == profile.totals()


# ---- several sessions

def check_sessions(messages, folder, profile):
    os.mkdir(f"{folder}/b")
    record(f"{folder}/b", [sampled.mix("ms", 60000)], "--duration=200ms")
    other = export(messages, f"{folder}/b")
    a, b = f"{folder}/s.cpsession", f"{folder}/b/s.cpsession"
    both = Profile(messages, output(PRINT, f"--session={a}", f"--session={b}", "--quiet",
                                    "--output-format=pprof", text=False))
    assert both.by_labels("session") == {
        (name, (path,)): w for path, p in ((a, profile), (b, other))
        for name, w in p.totals().items()}
    assert both.p.time_nanos == min(profile.p.time_nanos, other.p.time_nanos)
    # programs of another root folder may have other files of the same names
    files = [(both.text[m.file], both.text[m.build_id]) for m in both.p.mapping]
    assert len(files) == len(set(files)), "a file twice"
    os.mkdir(f"{folder}/c")
    sampled.finish(sampled.start(f"{folder}/c", EVENTS[:1], "--duration=10ms"))
    error = run(PRINT, f"--session={a}", f"--session={folder}/c/s.cpsession",
                "--output-format=pprof", code=1).stderr
    assert "measured other events than" in error, error


def check_main(messages, folder):
    """Names of others' programs may change meanwhile: of those there are none but numbers."""
    folder = f"{folder}/m"
    os.mkdir(folder)
    before, programs = time.time_ns(), [sampled.mix("ms", 60000, n) for n in (3, 1)]
    record(folder, programs, "--duration=250ms", config_name='a "name", odd')
    after = time.time_ns()
    profile = export(messages, folder)
    check_words(profile, before, after)
    check_labels(folder, profile)
    assert bool(check_kernel(profile)) == sampled.may_measure_kernel()
    own = ["--pid=" + ",".join(str(p.pid) for p in programs)]
    part = export(messages, folder, *own)
    check_names(folder, part, *own)
    check_labels(folder, part, *own)
    check_addresses(part)
    assert part.text[part.p.mapping[0].file] == os.path.realpath(MIX), "the main binary"
    assert any(part.text[i].endswith("more are omitted") for i in part.p.comment)
    again = export(messages, folder, "--threads=1", env={"LC_ALL": "de_DE.UTF-8"})
    assert again.by_labels("pid", "tid", "cpu", "comm") == \
        profile.by_labels("pid", "tid", "cpu", "comm")
    clock = [*own, "--event=cpu_clock"]
    check_names(folder, export(messages, folder, *clock), *clock)
    empty = export_empty(messages, folder)
    assert not empty.sample and not empty.location and len(empty.sample_type) == 4
    return folder, own, profile


def export_empty(messages, folder):
    data = gzip.decompress(show(folder, "--output-format=pprof", "--comm=nosuch"))
    protos.check_known("pprof", "Profile", data)
    return messages.Profile.FromString(data)


def main():
    protos.need()
    messages, go = protos.load("pprof"), find_go()
    with tempfile.TemporaryDirectory() as folder:
        session, own, profile = check_main(messages, folder)
        if go:
            path = f"{folder}/profile"
            show(session, "--output-format=pprof", f"--output-file={path}", *own)
            with open(path, "rb") as f:
                check_pprof(folder, path, Profile(messages, f.read()), Pprof(go, folder))
        else:
            print("  skip: go tool pprof: no go here")
        check_inlined(messages, folder)
        check_sessions(messages, session, profile)


if __name__ == "__main__":
    main()
