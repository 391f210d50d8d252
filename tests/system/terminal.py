"""A real terminal for tests: a tmux server of our own, its keys and what it shows. Nothing sleeps
for a fixed time: what is expected is waited for."""
import os
import re
import shlex
import shutil
import subprocess
import time

from patience import PATIENCE_S


def have_tmux():
    return shutil.which("tmux") is not None


ENDING = """
status=$?
case $(stty -a) in
*" icanon"*" echo "*) echo "status $status." ;;
*) echo "the terminal is not as it was" ;;
esac
exec sleep 1000"""


class Terminal:
    """One window that runs a command in a shell; its exit status is shown at the end, if the
    terminal is as it was before."""

    count = 0

    def __init__(self, command, width=100, height=30, env=None, shell=False, term="tmux-256color"):
        Terminal.count += 1
        self.socket = f"cpuperf-{os.getpid()}-{Terminal.count}"
        settings = {"LC_ALL": "C.UTF-8", "PS1": "$ ", "HISTFILE": "", **(env or {})}
        words = "exec env -u NO_COLOR " + " ".join(f"{k}={shlex.quote(v)}" for k, v in settings.items())
        if shell:
            words += " bash --norc --noprofile -i"
        else:
            words += " sh -c " + shlex.quote(
                shlex.join(command) + ENDING)
        config = f"/tmp/{self.socket}.conf"
        with open(config, "w", encoding="utf-8") as out:
            out.write(f"set -g default-terminal {term}\nset -g status off\n"
                      "set -g default-shell /bin/sh\n"
                      "set -g exit-empty on\nset -g history-limit 5000\n")
        self.tmux("-f", config, "new-session", "-d", "-x", str(width), "-y", str(height), words)
        os.unlink(config)
        if shell:
            self.wait(r"^\$")
            self.keys(shlex.join(command), "Enter")

    def tmux(self, *args, check=True):
        return subprocess.run(["tmux", "-L", self.socket, *args], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=check).stdout

    def keys(self, *names):
        self.tmux("send-keys", *names)

    def text(self, colors=False, history=False):
        return self.tmux("capture-pane", "-p", *(["-e"] if colors else []),
                         *(["-S", "-"] if history else []))

    def wait(self, pattern, colors=False, history=False, absent=False):
        """The screen, once it matches (absent: once it does not any more)."""
        end = time.monotonic() + PATIENCE_S
        while True:
            text = self.text(colors, history)
            if bool(re.search(pattern, text, re.M)) != absent:
                return text
            assert time.monotonic() < end, \
                f"{'still' if absent else 'never'}: {pattern!r} on\n{text}"
            time.sleep(0.02)

    def press(self, key, pattern, absent=False):
        """Presses a key until it shows: waits for the pattern."""
        self.keys(key)
        return self.wait(pattern, absent=absent)

    def still(self):
        """The screen, once it does not change: what is drawn comes in pieces."""
        text, before = self.text(), None
        while text != before:
            time.sleep(0.1)
            text, before = self.text(), text
        return text

    def resize(self, width, height):
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    def pid(self):
        return int(self.tmux("display-message", "-p", "#{pane_pid}"))

    def close(self):
        self.tmux("kill-server", check=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
