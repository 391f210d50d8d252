"""Ranks of a parallel program, each under a cpuperf of its own: the variables that srun and mpirun set, and with
scripts/test --long Slurm itself."""
import contextlib
import json
import os
import shutil
import subprocess
import time

import jsonschema

from kit import CPUPERF, PRINT, finish, free_port, may_count_faults, output, run, run_checks
from patience import PATIENCE_S

SLURM = {"SLURM_JOB_ID": "77", "SLURM_STEP_ID": "3", "SLURM_STEP_NUM_TASKS": "3", "SLURM_NTASKS": "3"}
PLUGIN = os.environ["SPANK"]  # empty: it was not built
PEERS = f"{os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')}/cpuperf/peers"


def rank_env(env):
    """Nothing of a job in which the test itself may run."""
    begins = ("SLURM", "OMPI_", "PMI", "MV2_")
    return {**{k: v for k, v in os.environ.items() if not k.startswith(begins)}, **env}


def start_ranks(folder, envs, *args):
    return [subprocess.Popen([CPUPERF, *args], env=rank_env(env), cwd=folder, text=True, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE) for env in envs]


def parts(folder, name):
    with open(f"{os.environ['SOURCE_DIR']}/schemas/host.schema.json", encoding="utf-8") as f:
        schema = json.load(f)
    found = {}
    for part in os.listdir(f"{folder}/{name}"):
        with open(f"{folder}/{name}/{part}/host.json", encoding="utf-8") as f:
            found[part] = json.load(f)
        jsonschema.validate(found[part], schema)
    return found


def check_ranks(folder):
    """Each has a folder in that of the job; the first prints its own."""
    if not may_count_faults("check_ranks"):
        return
    envs = [{**SLURM, "SLURM_PROCID": str(i), "SLURMD_NODENAME": f"n{i // 2}"} for i in range(3)]
    ranks = start_ranks(folder, envs, "-e", "page_faults", "--", "sh", "-c", "echo rank $SLURM_PROCID; exit $SLURM_PROCID")
    for i, p in enumerate(ranks):
        out, err = finish(p, i)
        assert out == f"rank {i}\n", out
        assert ("page_faults" in err and "rank 0 of 3" in err) if i == 0 else not err, err
    found = parts(folder, "cpuperf.77.3.session")
    assert set(found) == {"n0.0", "n0.1", "n1.2"}, found
    for name, part in found.items():
        assert (part["job"], part["step"], part["node"]) == ("77", "3", os.uname().nodename), part
        assert f"{part['host']}.{part['rank']}" == name and part["exit_status"] == part["rank"], part
        assert part["status"] == "ok" and "clock_offset_ns" not in part, part
        shown = output(PRINT, f"cpuperf.77.3.session/{name}", cwd=folder)
        assert "page_faults" in shown and "rank $SLURM_PROCID" in shown, shown


def check_starters(folder):
    """Who says which rank this is, and what is no job of several."""
    starters = {
        "OMPI_COMM_WORLD_": {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "PMIX_RANK": "1",
                             "PMIX_NAMESPACE": "prterun-a/b@1"},
        "MV2": {"MV2_COMM_WORLD_RANK": "1", "MV2_COMM_WORLD_SIZE": "2"},
        "PMI": {"PMI_RANK": "1", "PMI_SIZE": "2"},
        "PMIX": {"PMIX_RANK": "1"},
        # mpirun's helper was started by srun
        "in Slurm": {**SLURM, "SLURM_PROCID": "0", "OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"},
    }
    names = {"OMPI_COMM_WORLD_": "cpuperf.prterun-a_b_1.session", "in Slurm": "cpuperf.77.3.session"}
    for starter, env in starters.items():
        run(CPUPERF, "-e", "page_faults", "--", "true", env=env, cwd=folder)
        name = names.get(starter, "cpuperf.ranks.session")
        assert [part["rank"] for part in parts(folder, name).values()] == [1], (starter, os.listdir(folder))
        shutil.rmtree(f"{folder}/{name}")
    alone = [{"SLURM_PROCID": "0", "SLURM_NTASKS": "2", "SLURM_JOB_ID": "7"}, {"PMI_RANK": "0", "PMI_SIZE": "1"},
             {"PMI_RANK": "2", "PMI_SIZE": "2"}, {"PMI_RANK": "-1", "PMI_SIZE": "2"}, {"PMI_RANK": "x", "PMI_SIZE": "y"}]
    for env in alone:
        done = run(CPUPERF, "-e", "page_faults", "--", "true", env=env, cwd=folder)
        assert "page_faults" in done.stderr and "cpuperf.session" in os.listdir(folder), done
        assert not any("ranks" in name for name in os.listdir(folder)), env
    inner = f"{CPUPERF} -e page_faults -- true && test -e cpuperf.session/cpuperf.cpsession"
    done = run(CPUPERF, "-e", "page_faults", "--", "sh", "-c", inner, env=starters["PMI"], cwd=folder)
    assert [part["status"] for part in parts(folder, "cpuperf.ranks.session").values()] == ["ok"], done.stderr
    done = run(CPUPERF, "-o", "-", "-e", "page_faults", "--", "true", env=starters["PMI"], cwd=folder)
    assert "page_faults" in done.stderr


def check_names(folder):
    """--output names the folder of the job; what is no job's stays as it is."""
    env = {"PMI_RANK": "1", "PMI_SIZE": "2"}
    for _ in range(2):
        done = run(CPUPERF, "-o", "mine", "-e", "page_faults", "--", "true", env=env, cwd=folder)
        assert not done.stderr, done
        assert [part["rank"] for part in parts(folder, "mine").values()] == [1]
    name = os.listdir(f"{folder}/mine")[0]
    with open(f"{folder}/mine/{name}/thesis", "w", encoding="ascii"):
        pass
    done = run(CPUPERF, "-o", "mine", "-e", "page_faults", "--", "true", env=env, cwd=folder, code=125)
    assert "thesis" in done.stderr
    os.mkdir(f"{folder}/theirs")
    os.symlink("theirs", f"{folder}/link")
    done = run(CPUPERF, "-o", "link", "-e", "page_faults", "--", "true", env=env, cwd=folder, code=125)
    assert "link: " in done.stderr and not os.listdir(f"{folder}/theirs"), done
    os.symlink("nowhere", f"{folder}/cpuperf.ranks.session")
    run(CPUPERF, "-e", "page_faults", "--", "true", env=env, cwd=folder, code=125)
    assert not os.path.exists(f"{folder}/nowhere")


def check_killed(folder):
    """The part of a rank whose recorder was killed says so."""
    env = {"PMI_RANK": "1", "PMI_SIZE": "2"}
    p = start_ranks(folder, [env], "-e", "page_faults", "--", "sh", "-c", "echo $$ >pid; mv pid runs; exec sleep 1000")[0]
    while not os.path.exists(f"{folder}/runs"):
        assert p.poll() is None, p.communicate()
        time.sleep(0.02)
    p.kill()
    p.wait()
    with open(f"{folder}/runs", encoding="ascii") as f:
        os.kill(int(f.read()), 9)
    part, = parts(folder, "cpuperf.ranks.session").values()
    assert part["status"] == "partial" and "was killed" in part["reason"], part
    done = run(CPUPERF, "-e", "no_such_event", "--", "true", env=env, cwd=folder, code=125)
    part, = parts(folder, "cpuperf.ranks.session").values()
    assert part["status"] == "failed" and "no_such_event" in done.stderr, (part, done.stderr)


def program(name):
    return shutil.which(name, path=f"/usr/sbin:/usr/bin:{PEERS}/usr/sbin:{PEERS}/usr/bin")


def write_config(folder, libraries):
    controller, *nodes = [free_port() for _ in range(3)]
    host = os.uname().nodename
    text = f"""ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/linear
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
PluginDir={libraries}/slurm-wlm
PlugStackConfig={folder}/plugstack.conf
ReturnToService=2
PartitionName=p Nodes=n1,n2 Default=YES State=UP
"""
    for i, port in enumerate(nodes, 1):
        text += f"NodeName=n{i} NodeHostname={host} NodeAddr=127.0.0.1 Port={port}\n"
    with open(f"{folder}/slurm.conf", "w", encoding="ascii") as f:
        f.write(text)


@contextlib.contextmanager
def slurm(folder, daemons):
    """A controller and two nodes, with ports of their own; the environment in which srun finds them."""
    base = f"{folder}/slurm"
    os.makedirs(f"{base}/state")
    place = f"usr/lib/{os.uname().machine}-linux-gnu"
    libraries = f"{PEERS}/{place}" if daemons["srun"].startswith(PEERS) else f"/{place}"
    write_config(base, libraries)
    with open(f"{base}/plugstack.conf", "w", encoding="ascii") as f:
        f.write(f"required {PLUGIN} program={os.path.dirname(CPUPERF)}/cpuperf-srun\n" if PLUGIN else "")
    env = {"SLURM_CONF": f"{base}/slurm.conf", "LD_LIBRARY_PATH": f"{libraries}:{libraries}/slurm-wlm"}
    commands = [[daemons["slurmctld-wlm"], "-D", "-i"]]
    commands += [[daemons["slurmd-wlm"], "-D", "-N", node, "-d", daemons["slurmstepd-wlm"]] for node in ("n1", "n2")]
    with contextlib.ExitStack() as stack:
        log = stack.enter_context(open(f"{base}/log", "wb"))
        for command in commands:
            p = stack.enter_context(subprocess.Popen([*command, "-f", f"{base}/slurm.conf"], env=rank_env(env),
                                                     stdin=subprocess.DEVNULL, stdout=log, stderr=log))
            stack.callback(p.terminate)
        deadline = time.monotonic() + PATIENCE_S
        while run(daemons["sinfo"], "-h", "-t", "idle", "-o", "%D", env=env, code=None).stdout.strip() != "2":
            with open(f"{base}/log", encoding="utf-8") as f:
                assert time.monotonic() < deadline, f.read()[-4000:]
            time.sleep(0.2)
        yield env


def check_slurm(folder):
    """srun cpuperf -- COMMAND: what Slurm calls job, step, rank and node; answers are not mixed."""
    daemons = {name: program(name) for name in ("slurmctld-wlm", "slurmd-wlm", "slurmstepd-wlm", "srun", "sinfo")}
    if not all(daemons.values()) or os.geteuid() != 0:
        print("skip: check_slurm: needs root, and slurm-wlm, installed or unpacked by scripts/deps peers", flush=True)
        return
    with slurm(folder, daemons) as env:
        # libraries of others must not become those of what is measured
        command = ["env", "-u", "LD_LIBRARY_PATH", CPUPERF, "-e", "page_faults", "--", "sh", "-c",
                   "echo rank $SLURM_PROCID"]
        done = run(daemons["srun"], "-N2", *command, env=env, cwd=folder)
        assert sorted(done.stdout.splitlines()) == ["rank 0", "rank 1"], done
        assert done.stderr.count("  page_faults  ") == 1 and "rank 0 of 2" in done.stderr, done.stderr
        found = parts(folder, "cpuperf.1.0.session")
        assert {(p["host"], p["rank"], p["job"], p["step"], p["status"]) for p in found.values()} == \
            {("n1", 0, "1", "0", "ok"), ("n2", 1, "1", "0", "ok")}, found
        for name in found:
            assert "page_faults" in output(PRINT, f"cpuperf.1.0.session/{name}", cwd=folder)
        if PLUGIN:
            measure_by_plugin(folder, daemons["srun"], env)
        else:
            print("skip: srun --cpuperf: built without Slurm's headers", flush=True)


def measure_by_plugin(folder, srun, env):
    """srun --cpuperf: each task is measured; its arguments, exit status and environment are as without."""
    own = "--export=ALL,LD_LIBRARY_PATH=,NAME=a b"  # libraries of others must not become those of what is measured
    command = ["sh", "-c", 'echo "$SLURM_PROCID:$#:$1:$NAME"; env | grep -c CPUPERF_SRUN; exit 3', "sh", "two  words", ""]
    plain = run(srun, "-N2", own, *command, env=env, cwd=folder, code=3)
    done = run(srun, "-N2", own, "--cpuperf=-e page_faults -o mine", *command, env=env, cwd=folder, code=3)
    assert sorted(done.stdout.splitlines()) == sorted(plain.stdout.splitlines()), done
    assert "0:2:two  words:a b" in done.stdout, done
    found = parts(folder, "mine")
    assert {(p["host"], p["rank"], p["status"]) for p in found.values()} == {("n1", 0, "ok"), ("n2", 1, "ok")}, found
    with open(f"{folder}/spec", "w", encoding="ascii") as f:
        json.dump({"events": [{"group_name": "software", "event_name": "minor_faults"}]}, f)
    done = run(srun, "-N1", own, f"--cpuperf={folder}/spec", "true", env=env, cwd=folder)
    assert "minor_faults" in done.stderr, done
    done = run(srun, "-N1", own, "--cpuperf", "sh", "-c", "echo x", env=env, cwd=folder)
    assert done.stdout == "x\n" and "task_clock" in done.stderr, done
    done = run(srun, "-N1", own, "--cpuperf", "./no_such_program", env=env, cwd=folder, code=None)
    assert done.returncode and "no_such_program" in done.stderr, done
    with open(f"{folder}/several", "w", encoding="ascii") as f:
        f.write("0 echo first\n1 echo second\n")
    done = run(srun, "-N2", own, "--cpuperf", "--multi-prog", "several", env=env, cwd=folder)
    assert sorted(done.stdout.splitlines()) == ["first", "second"] and "--multi-prog is not measured" in done.stderr, done


def check_srun_program(folder):
    """What the plugin puts in a task's place, by itself."""
    if not PLUGIN:
        print("skip: check_srun_program: built without Slurm's headers", flush=True)
        return
    program = f"{os.path.dirname(CPUPERF)}/cpuperf-srun"
    assert "srun --cpuperf" in run(program, "x", code=125).stderr
    env = {"CPUPERF_SRUN_PROGRAM": "echo", "CPUPERF_SRUN_OPTIONS": "  -e  page_faults -o one"}
    done = run(program, "a b", "", "-n", env=env, cwd=folder)
    assert "CPUPERF_SRUN" not in run(program, env={**env, "CPUPERF_SRUN_PROGRAM": "env"}, cwd=folder).stdout
    assert done.stdout == "a b  -n\n" and os.path.exists(f"{folder}/one/cpuperf.cpsession"), done
    done = run(program, env={**env, "CPUPERF_SRUN_OPTIONS": "-e page_faults " * 200}, code=125)
    assert "more than 256 options" in done.stderr, done


run_checks(globals())
