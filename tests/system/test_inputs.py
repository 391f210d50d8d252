#!/usr/bin/env python3
"""Files that a person names to be read: whose they may be, and what is no file. Nothing of it is
waited for. As this user, and as another one where this one is root. CPUPERF and CPUPERF_PRINT name
the programs.
"""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

CPUPERF, PRINT = os.environ["CPUPERF"], os.environ["CPUPERF_PRINT"]
NOBODY, STRANGER = 65534, 65533
TRACE_OPTIONS = ["--duration=0", "--num-iterations=1"]


class Place:
    """A folder of a user, as whom the programs run."""

    def __init__(self, folder, user):
        self.folder, self.user = folder, user
        self.uid = os.geteuid() if user is None else user
        self.who = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        os.chown(folder, self.uid, self.uid)

    def run(self, program, *args, code=0, **more):
        """A timeout is what a FIFO would make of it."""
        done = subprocess.run([program, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False, timeout=600, text=True,
                              **{"stdin": subprocess.DEVNULL, "cwd": self.folder, **self.who, **more})
        assert done.returncode == code, (args, done.returncode, done.stdout, done.stderr)
        return done

    def fail(self, text, program, *args, **more):
        done = self.run(program, *args, code=1, **more)
        assert done.stdout == "" and done.stderr.count("error: ") == 1, (args, done.stderr)
        assert text in done.stderr, (args, done.stderr)
        return done.stderr

    def path(self, name):
        return f"{self.folder}/{name}"

    def write_spec(self, name="own.cpspec", uid=None, gid=None, mode=0o644, **keys):
        spec = {"output_path_prefix": self.path("t"),
                "session_result_spec_path": self.path("s.cpsession"),
                "events": [{"group_name": "misc", "event_name": "load_average_1"}], **keys}
        with open(self.path(name), "w", encoding="utf-8") as out:
            json.dump(spec, out)
        os.chown(self.path(name), self.uid if uid is None else uid, self.uid if gid is None else gid)
        os.chmod(self.path(name), mode)

    def record(self, *args, **keys):
        self.write_spec(**keys)
        return self.run(CPUPERF, "--spec-file=./own.cpspec", *TRACE_OPTIONS, *args)


def check_own_specs(place):
    """By its name alone: one's own, root's, and a link of one's own."""
    uids = {place.uid, 0} if os.geteuid() == 0 else {place.uid}
    for uid in uids:
        for gid, mode in ((place.uid, 0o600 if uid == place.uid else 0o644), (place.uid, 0o664),
                          (0 if os.geteuid() == 0 else place.uid, 0o664)):
            place.write_spec(uid=uid, gid=gid, mode=mode)
            said = place.run(CPUPERF, "--spec-file=own.cpspec", *TRACE_OPTIONS).stderr
            assert f": spec: {os.path.realpath(place.folder)}/own.cpspec\n" in said, said
    os.mkdir(place.path("elsewhere"))
    os.rename(place.path("own.cpspec"), place.path("elsewhere/s"))
    os.symlink("elsewhere/s", place.path("own.cpspec"))
    os.chown(place.path("own.cpspec"), place.uid, -1, follow_symlinks=False)
    said = place.run(CPUPERF, "--spec-file=own.cpspec", *TRACE_OPTIONS).stderr
    assert f": spec: {os.path.realpath(place.folder)}/elsewhere/s\n" in said, said


def check_path_is_said(place):
    """That of the spec which was found; and not among results."""
    place.write_spec()
    said = place.run(CPUPERF, "--spec-file=basic.cpspec", "--duration=0", "--output-path-prefix=",
                     "--session-result-spec-path=", "--output-format=csv")
    assert "/specs/basic.cpspec\n" in said.stderr.split(": spec: /")[1], said.stderr
    assert "cpspec" not in said.stdout
    with open(place.path("own.cpspec"), "rb") as spec:
        said = place.run(CPUPERF, "--spec-file=/dev/stdin", *TRACE_OPTIONS, stdin=spec).stderr
    assert f": spec: {os.path.realpath(place.folder)}/own.cpspec\n" in said, said


def refuse_here(place, name, why):
    """By its name alone, also instead of an installed one; with a slash it is measured."""
    error = place.fail(f"{name}: error: not read from the current folder: {why}", CPUPERF,
                       f"--spec-file={name}", *TRACE_OPTIONS)
    hint = error.split("\n  hint: ")[1].split()[-1]
    assert hint == f"--spec-file=./{name}", error
    assert not os.path.exists(place.path("s.cpsession")), error
    place.run(CPUPERF, hint, *TRACE_OPTIONS)
    os.unlink(place.path("s.cpsession"))


def check_others_specs(place):
    for name in ("own.cpspec", "basic.cpspec"):
        place.write_spec(name, mode=0o646)
        refuse_here(place, name, "every user can write to it")
        if os.geteuid() != 0:
            print("skip: another user's spec: this is not root")
            continue
        os.chmod(place.folder, 0o1777)  # as /tmp
        place.write_spec(name, uid=STRANGER)
        refuse_here(place, name, "it belongs to another user")
        place.write_spec(name, gid=STRANGER, mode=0o664)
        refuse_here(place, name, "a group can write to it")
        os.rename(place.path(name), place.path("x"))
        os.chmod(place.path("x"), 0o644)
        os.symlink("x", place.path(name))
        os.chown(place.path(name), STRANGER, -1, follow_symlinks=False)
        refuse_here(place, name, "it is a symbolic link owned by another user")
        os.unlink(place.path(name))
        os.chmod(place.folder, 0o700)


def check_sudo(place):
    """As root, in the folder of the user who asked for it."""
    if place.uid != 0:
        return
    place.write_spec(uid=STRANGER)
    env = {**os.environ, "SUDO_UID": str(STRANGER), "SUDO_USER": "stranger"}
    place.fail("it belongs to another user", CPUPERF, "--spec-file=own.cpspec", env=env)
    place.run(CPUPERF, "--spec-file=./own.cpspec", *TRACE_OPTIONS, env=env)


def put_other_kinds(place):
    """Names of what is no file; a socket is of a program that listens."""
    os.mkfifo(place.path("fifo"), 0o666)
    os.symlink("fifo", place.path("to-fifo"))
    os.symlink("/dev/zero", place.path("to-zero"))
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(place.path("socket"))
    return ["fifo", "to-fifo", "to-zero", "socket", "/dev/zero"]


def check_no_files(place):
    place.record()
    kinds = put_other_kinds(place)
    os.link(place.path("s.cpsession"), place.path("good"))
    text = "cannot be read: it is not a regular file"
    for name in kinds:
        for option in [f"--spec-file={name}"] + [f"--spec-file=./{name}"] * (name[0] != "/"):
            place.fail(text, CPUPERF, option)
        env = {**os.environ, "CPUPERF_SPEC_PATH": place.folder}
        if name[0] != "/":
            place.fail(text, CPUPERF, f"--spec-file={name}", cwd="/", env=env)
        place.fail(text, PRINT, f"--session={name}")
        place.fail("not a regular file", PRINT, f"--perf-data={name}")
        place.fail(text, PRINT, "--session=good", f"--diff={name}")
    for name in kinds:  # links to traces are followed
        os.unlink(place.path("t.0.0.cpuperf"))
        os.symlink(name, place.path("t.0.0.cpuperf"))
        error = place.run(PRINT, "--session=good", code=1).stderr
        assert "t.0.0.cpuperf: error: is not a cpuperf trace: not a regular file" in error, error


def check_kallsyms(place):
    place.write_spec(events=[{"group_name": "software", "event_name": "cpu_clock", "rate": 10000000}])
    done = subprocess.run([CPUPERF, "--spec-file=./own.cpspec", "--duration=20ms"], check=False,
                          cwd=place.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, **place.who)
    if done.returncode:
        print("skip: kallsyms: nothing can be sampled")
        assert "no permission" in done.stderr, done.stderr
        return
    for name in put_other_kinds(place):
        place.fail("cannot be read: it is not a regular file", PRINT, "--session=s.cpsession",
                   "--report=flat", f"--kallsyms={name}")
    text = "ffffffff81000000 T _text\n"  # a pipe that the shell made is no FIFO that somebody left
    done = place.run(PRINT, "--session=s.cpsession", "--report=flat", "--kallsyms=/dev/stdin",
                     stdin=None, input=text)
    assert "kallsyms" not in done.stderr, done.stderr


def check_given_pipes(place):
    """What the shell opened for us is read: <(…)."""
    place.write_spec()
    with open(place.path("own.cpspec"), encoding="utf-8") as spec:
        text = spec.read()
    place.run(CPUPERF, "--spec-file=/dev/stdin", *TRACE_OPTIONS, input=text, stdin=None)
    place.run(CPUPERF, "--spec-file=/dev/fd/0", "--check-spec", input=text, stdin=None)
    place.run("bash", "-c", f"'{CPUPERF}' --check-spec --spec-file=<(cat own.cpspec)")


def check_manifest_names(place):
    """No other file can be a manifest's; one that has another name is still read."""
    victim = place.path("victim")
    for name in ("victim", "cpsession", "x.cpsession.py", "t.0.0.cpuperf", "x.cpsession/", "X.CPSESSION"):
        place.write_spec(session_result_spec_path=place.path(name))
        with open(victim, "w", encoding="ascii") as out:
            out.write("precious")
        for more in ([], ["--check-spec"]):
            error = place.fail("empty or ending in .cpsession", CPUPERF, "--spec-file=own.cpspec", *more)
            assert "own.cpspec:1:" in error, error
        place.run(CPUPERF, "--spec-file=own.cpspec", "--check-spec", f"--session-result-spec-path={place.path('ok.cpsession')}")
        place.write_spec()
        done = place.run(CPUPERF, "--spec-file=own.cpspec", f"--session-result-spec-path={name}", code=2)
        assert "--session-result-spec-path: error: " in done.stderr, done.stderr
        with open(victim, encoding="ascii") as f:
            assert f.read() == "precious"
        assert sorted(os.listdir(place.folder)) == ["own.cpspec", "victim"]
    place.record()
    for name in ("old", "s.json"):
        os.rename(place.path("s.cpsession"), place.path(name))
        place.run(PRINT, f"--session={name}")
        os.rename(place.path(name), place.path("s.cpsession"))


def check_links_of_others(place):
    """Another user's link leads root to no manifest but that user's."""
    place.record()
    link = place.path("theirs.cpsession")
    os.symlink("s.cpsession", link)
    place.run(PRINT, "--session=theirs.cpsession")
    if place.uid != 0:
        print("skip: root and another user's link: this is not root")
        return
    os.lchown(link, STRANGER, -1)
    place.fail("it is a link that is not followed", PRINT, "--session=theirs.cpsession")
    os.lchown(place.path("s.cpsession"), STRANGER, -1)
    place.run(PRINT, "--session=theirs.cpsession")


def check_traces(place):
    """A trace stands for its session, where the manifest has the same name."""
    place.record()
    whole = place.run(PRINT, "--session=s.cpsession", "--output-format=csv", "--report=summary").stdout
    parts = [name for name in os.listdir(place.folder) if name.endswith(".cpuperf")]
    assert parts
    for name in parts:
        done = place.run(PRINT, name, code=1)
        assert f"{name}: error: is a trace, and there is no " in done.stderr, done.stderr
    prefix = re.match(r"(.*?)(\.common|\.s?[0-9]+\.[0-9]+)\.cpuperf$", parts[0])[1]
    os.symlink("s.cpsession", place.path(f"{prefix}.cpsession"))
    for name in parts:
        assert place.run(PRINT, place.path(name), "--output-format=csv", "--report=summary").stdout == whole
    os.symlink(parts[0], place.path("other"))
    done = place.run(PRINT, "other", code=1)
    assert "other: error: is a trace: name the manifest" in done.stderr, done.stderr


def check_owner_is_said(place):
    """Once, and not among the results; not of one's own or root's."""
    place.record()
    shown = place.run(PRINT, "--session=s.cpsession", "--output-format=csv")
    assert "belongs to" not in shown.stderr
    if os.geteuid() != 0:
        print("skip: another user's session: this is not root")
        return
    for name in os.listdir(place.folder):
        os.chmod(place.path(name), 0o644)
    for uid in (0, STRANGER):
        os.chown(place.path("s.cpsession"), uid, -1)
        again = place.run(PRINT, "--session=s.cpsession", "--output-format=csv", "--report=summary",
                          "--report=series")
        told = again.stderr.count(f"s.cpsession: warning: belongs to another user (uid {uid})")
        assert told == (uid == STRANGER), again.stderr
        assert again.stdout.startswith(shown.stdout)


def check_log_file(place):
    """Messages go to a file of one's own, and to no other user's."""
    log = place.path("log")
    place.write_spec()
    for _ in range(2):
        place.run(CPUPERF, "--spec-file=own.cpspec", f"--log-file={log}", *TRACE_OPTIONS)
    with open(log, encoding="utf-8") as f:
        assert f.read().count(": session starting") == 2
    assert os.stat(log).st_mode == 0o100600
    if os.geteuid() != 0:
        print("skip: another user's log: this is not root")
        return
    with open(log, "w", encoding="ascii") as f:
        f.write("precious")
    os.chmod(log, 0o666)
    os.chown(log, STRANGER, -1)
    for program in (CPUPERF, PRINT):
        place.fail("it belongs to another user", program, f"--log-file={log}", "--version")
    with open(log, encoding="ascii") as f:
        assert f.read() == "precious"


def install(folder):
    """Copies of the programs, with the specs beside them, that every user may run: ours may be in a
    home that is closed."""
    shutil.copytree(f"{os.path.dirname(CPUPERF)}/../share/cpuperf/specs", f"{folder}/share/cpuperf/specs")
    os.mkdir(f"{folder}/bin")
    os.chmod(folder, 0o755)
    return [shutil.copy(program, f"{folder}/bin") for program in (CPUPERF, PRINT)]


def main():
    global CPUPERF, PRINT
    with tempfile.TemporaryDirectory(prefix="cpuperf-installed.") as folder:
        CPUPERF, PRINT = install(folder)
        run_all()


def run_all():
    users = [None, NOBODY] if os.geteuid() == 0 else [None]
    for name, check in sorted(globals().items()):
        if not name.startswith("check_") or (sys.argv[1:] and name not in sys.argv[1:]):
            continue
        for user in users:
            began = time.monotonic()
            with tempfile.TemporaryDirectory(prefix="cpuperf-inputs.") as folder:
                os.chmod(folder, 0o755)
                os.mkdir(f"{folder}/x")
                place = Place(f"{folder}/x", user)
                check(place)
            print(f"{name} as {place.uid}: ok, {time.monotonic() - began:.1f} s", flush=True)


main()
