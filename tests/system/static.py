"""static.py: makes the file of the static programs, unpacks it into roots that have nothing, a busybox, or only the C
library, and does there what README shows, as root and as an ordinary user. Also with an image's root and rights.
Needs root, for chroot."""
import contextlib
import http.client
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAME = f"cpuperf-{os.uname().machine}-linux"
NOBODY = 65534
PROGRAM = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) uint64_t spinning(uint64_t n) {
	volatile uint64_t x = 0;
	for (uint64_t i = 0; i < n; i++) x += i;
	return x;
}
__attribute__((noinline)) void *allocating(void) { return malloc(100000); }
int main(void) {
	for (int i = 0; i < 100; i++) { void *p = allocating(); if (i % 2) free(p); else printf("%p", p); }
	for (int i = 0; i < 300; i++) spinning(1000000);
	return 0;
}
"""
# As a container has them: what is not there is not missing.
ENTER = """
root=$1 rights=$2 user=$3; shift 3
mount --bind "$root" "$root"; mount -t proc none "$root/proc"; mount --rbind /sys "$root/sys"
mount -t tmpfs none "$root/dev"; mknod -m 666 "$root/dev/null" c 1 3
cd "$root"
if [ "$rights" = all ]; then exec chroot --userspec="$user" --groups= "$root" "$@"; fi
umount -R -l "$root/sys/kernel/tracing" "$root/sys/kernel/debug" 2>/dev/null
exec setpriv --bounding-set="-all,+sys_chroot,$rights" --inh-caps=-all --no-new-privs chroot "$root" "$@"
"""


def run(*args, code=0, **how):
    done = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, stdin=subprocess.DEVNULL, **how)
    assert code is None or done.returncode == code, (args, done)
    return done


def inside(root, *args, user="0:0", rights="all"):
    return ("unshare", "--mount", "--propagation", "private", "sh", "-c", ENTER, "sh", root, rights, user, *args)


def make_root(top, name, pack, *files):
    """A folder with the programs in a place with a space, and these files at their own places."""
    root = f"{top}/{name}"
    for folder in "proc", "sys", "dev", "tmp", "opt", "bin", "root", "a place":
        os.makedirs(f"{root}/{folder}")
    os.chmod(f"{root}/tmp", 0o1777)
    run("tar", "-C", f"{root}/a place", "-xzf", pack)
    os.symlink(f"/a place/{NAME}/bin/cpuperf", f"{root}/bin/cpuperf")
    os.symlink(f"../a place/{NAME}/bin/cpuperf_print", f"{root}/bin/cpuperf_print")
    for path in files:
        os.makedirs(os.path.dirname(root + path), exist_ok=True)
        shutil.copy(path, root + path)
    return root


def check_versions(root):
    """What is loaded into programs of other systems needs a C library of 2012; the programs need none."""
    place = f"{root}/a place/{NAME}"
    for path in f"{place}/lib/libcpuperf_marks.so.1", f"{place}/lib/cpuperf/libcpuperf-agent.so":
        found = re.findall(r"Name: GLIBC_(\S+)", run("readelf", "-V", path).stdout)
        newest = max((tuple(int(n) for n in version.split(".")) for version in found), default=None)
        assert newest and newest <= (2, 17), (path, found)
    for name in "cpuperf", "cpuperf_print":
        assert "NEEDED" not in run("readelf", "-d", f"{place}/bin/{name}").stdout


def check_readme(root, user):
    """The commands of README, by the links in PATH."""
    here = f"/tmp/{user.replace(':', '.')}"
    os.makedirs(root + here)
    os.chown(root + here, *(int(n) for n in user.split(":")))

    def cpuperf(*args, program="cpuperf", code=0):
        return run(*inside(root, f"/bin/{program}", *args, user=user), code=code, env={"HOME": here, "PATH": "/bin:/usr/sbin:/usr/bin"})

    done = cpuperf("-o", f"{here}/s", "--", "/spin")
    assert "/spin: exit status 0" in done.stderr and "spinning" in done.stderr, done
    assert "spinning" in cpuperf(f"{here}/s", "--report=flat", program="cpuperf_print").stdout
    cpuperf(f"{here}/s", "--output-format=html", f"--output-file={here}/x.html", program="cpuperf_print")
    with open(f"{root}{here}/x.html", encoding="utf-8") as f:
        assert f.read(100).lower().startswith("<!doctype html>")
    done = cpuperf(f"{here}/s", "--report=annotate", "--asm", "--function=spinning", program="cpuperf_print", code=None)
    assert re.search(r"\b(mov|add|cmp|ldr|str)", done.stdout), done  # capstone is in it
    cpuperf(f"{here}/s", "--output-format=sqlite", f"--output-file={here}/x.db", program="cpuperf_print")
    assert "page_faults" in cpuperf("--list-events").stdout
    assert "wall.cpspec" in cpuperf("--list-specs").stdout  # found from the program's own place
    done = cpuperf("--versus=/spin", "--at-most=1s", "-o", f"{here}/v", "--", "/spin", code=None)
    assert "error" not in done.stderr, done
    done = cpuperf("--spec-file=heap", "-o", f"{here}/h", "--", "/spin", code=None)
    assert "spin is linked statically: it loads no agent" in done.stderr, done
    done = cpuperf("--push=pyroscope+http://127.0.0.1:1", "--frequency=99", "-o", f"{here}/p", "--", "/spin", code=None)
    assert "the static cpuperf loads no libraries" in done.stderr and "that is not the static one" in done.stderr, done


def check_metrics(root):
    """libmicrohttpd is in it."""
    with subprocess.Popen(inside(root, "/bin/cpuperf", "-e", "page_faults", "--no-live", "--quiet", "-o", "/tmp/m", "--duration=100ms",
                                 "--num-iterations=0", "--metrics-listen=unix:/tmp/socket"), stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as p:
        text = ""
        while "page_faults" not in text:
            assert p.poll() is None, p.communicate()
            time.sleep(0.05)
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as s:
                s.connect(f"{root}/tmp/socket")
                connection = http.client.HTTPConnection("localhost")
                connection.sock = s
                connection.request("GET", "/metrics")
                text = connection.getresponse().read().decode()
        p.terminate()
        p.communicate()


def check_heap(top, pack):
    """The agent in a program that has nothing but the C library."""
    run("cc", "-O1", "-fno-omit-frame-pointer", "-o", f"{top}/dynamic", f"{top}/spin.c")
    needed = [line.split("=> ")[-1].split(" (")[0].strip() for line in run("ldd", f"{top}/dynamic").stdout.splitlines()]
    files = [path for path in needed if path.startswith("/")]
    beside = os.path.dirname(next(path for path in files if "libc.so" in path))
    root = make_root(top, "libc", pack, *files, *(f"{beside}/{name}" for name in ("libdl.so.2", "libpthread.so.0")))
    shutil.copy(f"{top}/dynamic", f"{root}/spin")
    done = run(*inside(root, "/bin/cpuperf", "--spec-file=heap", "-o", "/tmp/h", "--", "/spin"), code=125)
    assert "a folder with a space or colon in its name" in done.stderr, done
    os.rename(f"{root}/a place", f"{root}/place")
    os.unlink(f"{root}/bin/cpuperf")
    os.symlink(f"../place/{NAME}/bin/cpuperf", f"{root}/bin/cpuperf")
    done = run(*inside(root, "/bin/cpuperf", "--spec-file=heap", "-o", "/tmp/h", "--", "/spin"))
    assert "allocating" in done.stderr and re.search(r"allocated 10\.\d+ MB in 10\d calls", done.stderr), done


def check_rights(root):
    """With the rights of the DaemonSet nothing is missing; without each, what its comment says."""
    with open(f"{TREE}/service/kubernetes/daemonset.yaml", encoding="utf-8") as f:
        rights = re.findall(r"^ *- ([A-Z_]+) #", f.read(), re.M)
    assert "PERFMON" in rights
    said = {"PERFMON": "no permission", "BPF": None, "SYSLOG": "not surveyed: kernel symbols",
            "SYS_PTRACE": None, "IPC_LOCK": "the limit of locked memory"}
    assert set(said) == set(rights), rights
    for dropped in (None, *rights):
        names = ",".join(f"+{name.lower()}" for name in rights if name != dropped)
        done = run(*inside(root, "/bin/cpuperf", "--spec-file=continuous", "--quiet", "--no-live", "--duration=200ms",
                           "--num-iterations=1", "-o", "/tmp/c", rights=names), code=None)
        if dropped is None:
            if done.returncode:  # no BTF, or no programs in the kernel
                print(f"skip: check_rights: not measured here: {done.stderr}")
                return
            assert not any(text and text in done.stderr for text in said.values()), done
        elif said[dropped]:
            assert said[dropped] in done.stderr, (dropped, done)


def main():
    if os.geteuid() != 0 or run("unshare", "--mount", "true", code=None).returncode:
        print("skip: chroot and mount need root")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="cpuperf-static.") as top:
        os.chmod(top, 0o755)
        run(f"{TREE}/scripts/package", "tar", f"--output={top}")
        pack = f"{top}/{NAME}.tar.gz"
        print(f"{os.path.getsize(pack):,} bytes", flush=True)
        with open(f"{top}/spin.c", "w", encoding="ascii") as f:
            f.write(PROGRAM)
        run("cc", "-static", "-g", "-O1", "-fno-omit-frame-pointer", "-o", f"{top}/spin", f"{top}/spin.c")
        roots = [make_root(top, "empty", pack)]
        if shutil.which("busybox") and subprocess.run(["ldd", shutil.which("busybox")], capture_output=True, check=False).returncode:
            roots.append(make_root(top, "busybox", pack))
            shutil.copy(shutil.which("busybox"), f"{roots[1]}/bin/busybox")
            done = run(*inside(roots[1], "/bin/busybox", "sh", "-c", shlex.join(["/bin/cpuperf", "--version"])))
            assert done.stdout.startswith("cpuperf "), done
        else:
            print("skip: the root with a busybox: there is none here that is linked statically")
        for root in roots:
            shutil.copy(f"{top}/spin", f"{root}/spin")
            for user in "0:0", f"{NOBODY}:{NOBODY}":
                check_readme(root, user)
                print(f"{os.path.basename(root)}, {user}: ok", flush=True)
        check_versions(roots[0])
        check_metrics(roots[0])
        check_heap(top, pack)
        check_rights(roots[0])


main()
