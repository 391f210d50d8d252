"""--hosts by the real ssh and sshd, on the loopback: three hosts that are one."""
import contextlib
import json
import os
import pwd
import shutil
import socket
import subprocess
import time

from kit import CPUPERF, PRINT, free_port, may_count_faults, output, own_uid, run, run_checks, skip
from patience import PATIENCE_S

PEERS = f"{os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')}/cpuperf/peers"
LIBRARIES = ":".join(f"{PEERS}/{place}" for place in (f"usr/lib/{os.uname().machine}-linux-gnu",
                                                       f"lib/{os.uname().machine}-linux-gnu"))
SSHD = shutil.which("sshd", path=f"/usr/sbin:/usr/local/sbin:{PEERS}/usr/sbin")

PERSON = "cpuperf-test"  # an ordinary user, whom only sshd and what it starts know


def write(path, text, mode=0o600):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)


def command_of(folder):
    """sshd itself; as root it needs a user and a folder of its own, which only it sees."""
    command = f"exec '{SSHD}' -D -e -f '{folder}/sshd_config'"
    if os.geteuid() != 0:
        return command
    with open("/etc/passwd", encoding="utf-8") as f:
        users = f.read()
    users += "" if "\nsshd:" in users else "sshd:x:64990:65534::/:/bin/false\n"
    write(f"{folder}/passwd", f"{users}{PERSON}:x:{own_uid()}:{own_uid()}::{folder}/home:/bin/sh\n", 0o644)
    return f"mount -t tmpfs none /run && mkdir /run/sshd && mount --bind '{folder}/passwd' /etc/passwd && {command}"


@contextlib.contextmanager
def server(folder):
    """sshd on a port of its own; the keywords of run() with which its hosts a, b and c are known."""
    port = free_port()
    for key in "host", "user":
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{folder}/{key}key", stdin=subprocess.DEVNULL)
    for name in "held", "home", "bin":
        os.makedirs(f"{folder}/{name}")
    os.chmod(f"{folder}/held", 0o1777)
    os.chmod(f"{folder}/userkey.pub", 0o644)
    write(f"{folder}/sshd_config", f"""
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/hostkey
AuthorizedKeysFile {folder}/userkey.pub
StrictModes no
UsePAM no
PidFile none
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
SetEnv PATH={os.path.dirname(CPUPERF)}:/usr/bin:/bin TMPDIR={folder}/held
""")
    write(f"{folder}/ssh_config", f"""
Host a b c unknown
  HostName 127.0.0.1
  User {pwd.getpwuid(os.geteuid()).pw_name}
  IdentityFile {folder}/userkey
Host person
  HostName 127.0.0.1
  User {PERSON}
  IdentityFile {folder}/userkey
Host refused
  HostName 127.0.0.1
  Port 1
Host denied
  HostName 127.0.0.1
  IdentityFile {folder}/nokey
Host unknown
  UserKnownHostsFile /dev/null
Host *
  Port {port}
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile {folder}/known
""")
    with open(f"{folder}/hostkey.pub", encoding="ascii") as f:
        write(f"{folder}/known", f"[127.0.0.1]:{port} {f.read()}")
    write(f"{folder}/bin/ssh", f"#!/bin/sh\nexec /usr/bin/ssh -F '{folder}/ssh_config' \"$@\"\n", 0o755)
    start = ["sh", "-c", command_of(folder)]
    if os.geteuid() == 0:
        start = ["unshare", "--mount", "--propagation", "private", *start]
    with open(f"{folder}/sshd.log", "wb") as log, \
            subprocess.Popen(start, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                             env={**os.environ, "LD_LIBRARY_PATH": LIBRARIES}) as p:
        try:
            while True:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                with open(f"{folder}/sshd.log", encoding="utf-8") as f:
                    assert p.poll() is None, f.read()
                time.sleep(0.05)
            yield {"env": {"PATH": f"{folder}/bin:/usr/bin:/bin"}, "cwd": folder}
        finally:
            p.terminate()


def nothing_is_left(folder):
    """The connection may end before the last of the host's processes does."""
    deadline = time.monotonic() + PATIENCE_S
    while os.listdir(f"{folder}/held"):
        assert time.monotonic() < deadline, os.listdir(f"{folder}/held")
        time.sleep(0.05)


def parts(folder):
    found = {}
    for name in os.listdir(f"{folder}/cpuperf.session"):
        with open(f"{folder}/cpuperf.session/{name}/host.json", encoding="utf-8") as f:
            found[name] = json.load(f)
    return found


def check_hosts(folder):
    if not may_count_faults("check_hosts"):
        return
    with server(folder) as how:
        args = ["a b", "'\"", "new\nline", "$HOME `id`", "", "*", "\\", "-x", "--", "~", "#"]
        done = run(CPUPERF, "--hosts=a,b,c", "--hosts-timeout=120", "-e", "page_faults", "--",
                   "sh", "-c", r"printf '<%s>\n' " + '"$@" >&2; pwd; exit 4', "x", *args, code=4, **how)
        home = pwd.getpwuid(os.geteuid()).pw_dir
        assert sorted(done.stdout.splitlines()) == [f"{h}: {home}" for h in "abc"], done.stdout
        for host in "abc":
            said = "\n".join(line.removeprefix(f"{host}: ") for line in done.stderr.splitlines()
                             if line.startswith(f"{host}: "))
            assert "\n".join(f"<{a}>" for a in args) in said, done.stderr
            assert "page_faults" in output(PRINT, f"cpuperf.session/{host}", cwd=folder)
        found = parts(folder)
        assert {p["status"] for p in found.values()} == {"ok"}, found
        assert len({p["start_realtime_ns"] for p in found.values()}) == 1
        for part in found.values():
            assert abs(part["clock_offset_ns"]) <= part["clock_error_ns"], part
        nothing_is_left(folder)


def check_send(folder):
    """To who logs in as root, and as an ordinary user: the program that is sent measures there, and nothing is left."""
    if not may_count_faults("check_send"):
        return
    name = f"cpuperf-{os.uname().machine}-linux"
    os.makedirs(f"{folder}/pack/{name}/bin")
    shutil.copy(CPUPERF, f"{folder}/pack/{name}/bin/cpuperf")
    run("tar", "-C", f"{folder}/pack", "-czf", f"{folder}/{name}.tar.gz", name)
    with server(folder) as how:
        hosts = {"a": os.geteuid(), **({"person": own_uid()} if os.geteuid() == 0 else {})}
        done = run(CPUPERF, f"--hosts={','.join(hosts)}", "--hosts-timeout=120", "--hosts-program=/nonexistent/cpuperf",
                   f"--send={folder}/{name}.tar.gz", "-e", "page_faults", "--", "sh", "-c",
                   "id -u; ls -d \"$TMPDIR\"/cpuperf.*/*/bin/cpuperf; exit 4", code=4, **how)
        for host, uid in hosts.items():
            said = [line.removeprefix(f"{host}: ") for line in done.stdout.splitlines() if line.startswith(f"{host}: ")]
            assert said[0] == str(uid) and any(s.endswith(f"/{name}/bin/cpuperf") for s in said[1:]), done.stdout
            assert "page_faults" in output(PRINT, f"cpuperf.session/{host}", cwd=folder)
        found = parts(folder)
        assert {(p["status"], p["exit_status"]) for p in found.values()} == {("ok", 4)} and set(found) == set(hosts), found
        nothing_is_left(folder)


def check_refusals(folder):
    """ssh's own words are the reason: no server, an unknown key of the host, a key that is not known there."""
    with server(folder) as how:
        run(CPUPERF, "--hosts=a,refused,unknown,denied", "--hosts-timeout=120", "-e", "page_faults", "--", "true",
            code=125, **how)
        found = parts(folder)
        assert found["a"]["status"] == "ok", found
        assert "Connection refused" in found["refused"]["reason"], found
        assert "verification failed" in found["unknown"]["reason"], found
        assert "denied" in found["denied"]["reason"], found


def check_server_dies(folder):
    """A connection that breaks: the host is named, and its command gets SIGHUP."""
    with server(folder) as how:
        script = f"touch {folder}/run.$$; trap 'touch {folder}/hung.up; exit 1' HUP; while :; do sleep 0.1; done"
        with subprocess.Popen([CPUPERF, "--hosts=a", "--hosts-timeout=120", "-e", "page_faults", "--", "sh", "-c", script],
                              env={**os.environ, **how["env"]}, cwd=folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
            while not any(name.startswith("run.") for name in os.listdir(folder)):
                assert p.poll() is None, p.communicate()
                time.sleep(0.05)
            for child in output("pgrep", "-P", str(p.pid), "ssh", code=None).split():
                os.kill(int(child), 9)
            p.communicate()
            assert p.returncode == 125
        assert "connection was lost" in parts(folder)["a"]["reason"], parts(folder)
        deadline = time.monotonic() + PATIENCE_S
        while not os.path.exists(f"{folder}/hung.up") or os.listdir(f"{folder}/held"):
            assert time.monotonic() < deadline, os.listdir(folder)
            time.sleep(0.05)


if not SSHD or not shutil.which("ssh"):
    skip("sshd: neither installed nor unpacked by scripts/deps peers")
run_checks(globals(), everybody=True)
