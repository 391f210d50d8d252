"""Messages of Protocol Buffers, read by others' programs: protoc, by the definitions of ours in
tests/data/proto, and the classes that it makes for Python.
"""
import importlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

FOLDER = f"{os.environ['SOURCE_DIR']}/tests/data/proto"


def need():
    """Skips the test where there is nothing to read with."""
    missing = None if shutil.which("protoc") else "protoc"
    try:
        importlib.import_module("google.protobuf")
    except ImportError:
        missing = missing or "google.protobuf for Python"
    if missing:
        print(f"skip: no {missing} here")
        raise SystemExit(77)


def load(name):
    """The module of NAME.proto."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["protoc", f"--proto_path={FOLDER}", f"--python_out={folder}",
                        f"{name}.proto"], check=True)
        sys.path.insert(0, folder)
        module = importlib.import_module(f"{name}_pb2")
        sys.path.remove(folder)
    return module


def check_known(name, message, data):
    """Each field is one of the definitions, and of the type that it has there: protoc shows others
    by their numbers."""
    done = subprocess.run(["protoc", f"--proto_path={FOLDER}", f"--decode=cpuperf.{name}.{message}",
                           f"{name}.proto"], input=data, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0, done.stderr
    unknown = re.findall(rb"^ *[0-9]+[: ].*", done.stdout, re.M)
    assert not unknown, (len(unknown), unknown[:5])
