#!/usr/bin/env python3
"""An installed tree works wherever it stands: in /opt, in a home, on a file system that is read-only, and through symbolic
links. What cpuperf looks for beside itself is found in that tree, also where the system has another.
"""
import ctypes
import os
import shutil
import traceback

from kit import CPUPERF, output, run, run_checks

TREE = os.path.dirname(os.path.dirname(CPUPERF))
HEAP, AGENT, MARKS = os.environ["HEAP"], os.environ["AGENT"], os.environ["MARKS"]
GPU = "gpu:pm/sm__cycles_active.avg.pct_of_peak_sustained_elapsed"
CLONE_NEWNS = 0x20000
BASE = ("bin", "libexec/cpuperf", "share/cpuperf", os.path.relpath(os.path.dirname(AGENT), TREE))


def copy(tree):
    """What the base package has of the tree, below another prefix."""
    for folder in BASE:
        shutil.copytree(f"{TREE}/{folder}", f"{tree}/{folder}", symlinks=True)
    shutil.copy(MARKS, f"{tree}/{os.path.relpath(MARKS, TREE)}")
    return tree


def use(folder, bin_folder, tree):
    """All that cpuperf finds beside itself, by programs that are called in bin_folder, is that of the tree."""
    program = f"{bin_folder}/cpuperf"
    assert f"{tree}/share/cpuperf/specs:\n" in output(program, "--list-specs", env={"CPUPERF_SPEC_PATH": None}), tree
    variables = output(program, "--quiet", "--regions", "-e", "heap:allocated", "-o", f"{folder}/r", "--", "env", cwd=folder)
    for name, path in (("LD_PRELOAD", AGENT), ("INTEL_LIBITTNOTIFY64", MARKS)):
        assert f"{name}={tree}/{os.path.relpath(path, TREE)}\n" in variables, (tree, name, variables)
    assert "allocated" in output(f"{bin_folder}/cpuperf_print", "--quiet", f"{folder}/r")


def check_moved(folder):
    """In /opt/x, and in a home: as it is moved, and by links to its programs, which stand elsewhere."""
    tree = copy(f"{folder}/opt/x")
    use(folder, f"{tree}/bin", tree)
    os.makedirs(f"{folder}/home/.local")
    home = f"{folder}/home/.local"
    for name in os.listdir(tree):
        os.rename(f"{tree}/{name}", f"{home}/{name}")
    use(folder, f"{home}/bin", home)
    os.makedirs(f"{folder}/usr/bin")
    for name in ("cpuperf", "cpuperf_print"):
        os.symlink(f"../../home/.local/bin/{name}", f"{folder}/usr/bin/{name}")
    use(folder, f"{folder}/usr/bin", home)


def check_helper(folder):
    """The program that samples GPUs is that of the tree: without it they are not sampled."""
    tree = copy(f"{folder}/opt/x")
    env = {"CPUPERF_CUDA_PATH": os.environ["CUDA_DIR"], "CPUPERF_STANDIN": ""}
    command = (f"{tree}/bin/cpuperf", "--quiet", "-e", f"{GPU}@0.001s", "-n", "1", "--duration=50ms", "-o", f"{folder}/s")
    done = run(*command, env=env)
    assert "not supported" not in done.stdout, done
    if TREE == "/usr":
        print("skip: of a copy of what packages installed, their program is taken where it has none", flush=True)
        return
    os.unlink(f"{tree}/libexec/cpuperf/cpuperf-gpu-pm")
    done = run(*command, env=env, code=None)
    assert "cpuperf-gpu-pm is not installed" in done.stdout + done.stderr, done


def check_read_only(folder):
    """Nothing is written below the prefix."""
    if os.geteuid() != 0:
        print("skip: read-only: only root can mount", flush=True)
        return
    tree = copy(f"{folder}/tree")
    child = os.fork()
    if child == 0:
        try:
            assert ctypes.CDLL(None).unshare(CLONE_NEWNS) == 0
            run("mount", "--make-rprivate", "/", code=None)  # in a chroot / is no mount: others see what follows
            run("mount", "--bind", tree, tree)
            run("mount", "-o", "remount,bind,ro", tree)
            assert run("touch", f"{tree}/x", code=None).returncode != 0
            use(folder, f"{tree}/bin", tree)
            run("umount", tree)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


run_checks(globals())
