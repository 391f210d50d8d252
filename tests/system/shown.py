"""What README.md and the manual show, run: the commands of blocks ```console, and the shape of the output below them.

A line that begins with "$ " is a command (a backslash continues it). Each line below it must be printed, wherever (rows
that are as frequent have no order), with others or without; of the rows of a table half, since each is a thing of chance.
Its shape counts: numbers, with their units and errors, rows
of them, and runs of blanks are equal, "…" stands for any text, a line that begins with it for lines. An HTML comment before a block says what is special about it, one or more of

    <!-- test: not run: REASON -->       what the machine of a test lacks; printed and counted as skipped
    <!-- test: root -->                  it needs programs in the kernel; skipped without. The page says "root" there
    <!-- test: status N -->              exit status, of its last command
    <!-- test: with 4217 = COMMAND -->   the number is that of a process that runs this command meanwhile
    <!-- test: file NAME -->             the block, of any language, is a file that later commands read
    <!-- test: varies: TEXT -->          shown lines with TEXT are not compared: they depend on what else runs

A page's commands run in one folder, in their order, so that later ones print what earlier ones recorded. It has examples
and include, as a clone, and prog, old/prog and new/prog, built as README shows. Options in commands that are not run,
also in the text, must exist, too.
CPUPERF_RENEW=1 replaces a line "@@ N" by the first N lines that are printed (for writing a page).
"""
import os
import re
import shlex
import shutil
import signal
import subprocess

from kit import CPUPERF, PRINT, programs_missing

SOURCE = os.environ["SOURCE_DIR"]
RENEW = os.environ.get("CPUPERF_RENEW") == "1"
COLUMNS = "140"
BIN = os.path.dirname(CPUPERF)

# What the machine and its load decide, rather than the program that is measured.
VARIES = ("not measured:", "waiting for a CPU", "[kernel]", "records processed")

# An ordinary user is shown other lines in places: waits by records of switches, what to type to measure more.
IS_AS_SHOWN = programs_missing() is None

NUMBER = r"(?<![A-Za-z_])[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]\d+)?"
UNIT = r"(?: ?(?:ns|us|µs|ms|s|min|m|h|d|kHz|MHz|GHz|Hz|B|kB|MB|GB|TB|KiB|MiB|GiB|k|M|G)(?![A-Za-z_]))?(?:/s)?"
PLURAL = r"# (sample|wait|run|thread|process|iteration|futex)(?:es|s)?\b"


def titles(line):
    """Of columns; None: the line has other things."""
    found = re.split(r"\s{2,}", line.strip())
    return set(found) - {"…"} if len(found) > 3 and not re.search(r"\d", line) else None


def are_titles(shown, printed):
    """A table leaves out columns that long names leave no room for, and those that say nothing. Another title is a fault."""
    printed = titles(printed) or set()
    return len(shown & printed) > 1 and (shown <= printed or printed <= shown)


def shape(line):
    """Without what differs from run to run. A sign, a unit, an error and what aligns columns are no shape."""
    line = re.sub(r"^(Host|Machine|CPU|Kernel)  +.*", r"\1 #", line.strip())  # of a session: others on each machine
    line = re.sub(r"0x[0-9a-f]+|[▁-▏]+", "#", line)
    line = re.sub(NUMBER + UNIT, "#", line)
    line = re.sub(r"\s+", " ", line).replace(" ± # %", "").replace(" ± #", "").replace("# to #", "#").replace("≥ ", "")
    line = line.removesuffix("; # more are omitted").replace(" and records of switches", "")  # where tasks had no sample
    return re.sub(r"#( %)?( #( %)?)*", "#", re.sub(PLURAL, r"# \1", line))


def pattern(line):
    parts = [re.escape(shape(part)) for part in line.split("…")]
    return re.compile(r"\s?.*\s?".join(parts))


def is_printed(line, shapes):
    """What is said of it beyond may be added, behind a semicolon."""
    wanted = pattern(line)
    return any(wanted.fullmatch(s) or wanted.fullmatch(s.partition("; ")[0]) for s in shapes)


def missing(shown, printed, varies=()):
    """The first shown line that is not printed; None: all are. Of the rows of a table, of which each is a thing of chance,
    half may be missing."""
    shapes = [shape(line) for line in printed]
    in_table, rows, absent = False, 0, []
    for line in [*shown, ""]:
        columns = titles(line)
        if not line.strip() or columns:
            if len(absent) > rows / 2:
                return absent[0]
            in_table, rows, absent = bool(columns), 0, []
        if not line.strip() or line.startswith("…") or any(text in line for text in (*VARIES, *varies)):
            continue
        found = any(are_titles(columns, p) for p in printed) if columns else is_printed(line, shapes)
        rows += in_table and not columns
        if not found and (columns or not in_table):
            return line
        absent += [line] if not found else []
    return None


class Block:
    """A fenced block of a page."""

    def __init__(self, page, first, language, directives, lines):
        self.page, self.first, self.language, self.lines = page, first, language, lines
        self.place = f"{page}:{first + 1}"
        self.directives = directives
        self.before = ""  # the section's text up to it
        self.steps = []  # a command, the lines below it, the place of the first in the block
        for i, line in enumerate(lines):
            if language != "console":
                continue
            if line.startswith("$ "):
                self.steps.append([line[2:], [], i + 1])
            elif self.steps and self.steps[-1][0].endswith("\\") and not self.steps[-1][1]:
                self.steps[-1][0] = self.steps[-1][0][:-1] + line
                self.steps[-1][2] = i + 1
            else:
                assert self.steps, f"{self.place}: output without a command"
                self.steps[-1][1].append(line)

    def value(self, key):
        return next((d[len(key):].strip(" :") for d in self.directives if d.startswith(key)), None)

    def values(self, key):
        return [d[len(key):].strip(" :") for d in self.directives if d.startswith(key)]


def blocks(page, text):
    """The blocks of Markdown text, in their order."""
    found, directives, lines, language, first, before = [], [], None, None, 0, []
    for number, line in enumerate(text.split("\n")):
        fence = re.match(r"```(\w*)$", line)
        comment = re.fullmatch(r"<!-- test: (.*?) -->", line)
        if lines is not None and line == "```":
            found.append(Block(page, first, language, directives, lines))
            found[-1].before = "\n".join(before)
            lines, directives = None, []
        elif lines is not None:
            lines.append(line)
        elif fence:
            language, lines, first = fence[1], [], number + 1
        elif comment:
            directives.append(comment[1])
        elif line.startswith("#"):
            before = []
        elif line.strip():
            before.append(line)
            assert not directives, f"{page}:{number + 1}: a comment of a test, and no block behind it"
    assert lines is None, f"{page}: a block without an end"
    return found


def options_of(program):
    """The options, and the words of --report and --output-format."""
    text = subprocess.run([program, "--help=all"], check=True, capture_output=True, text=True).stdout
    options = set(re.findall(r"^  (?:-\w, )?--([\w-]+)", text, re.M)) | set(re.findall(r"^  -(\w), ", text, re.M))
    return options, text


def commands_in(text):
    """Words of each command cpuperf or cpuperf_print in text: up to --, a pipe or the end."""
    text = re.sub(r"(?<= -e) (?=\S)", "", text)
    for match in re.finditer(r"(?:^|[\s;(`|&])(cpuperf(?:_print)?)((?:\s+[^\n`;|&]*)?)", text):
        rest = re.split(r"\s#\s|\s--(?:\s|$)|>|\$\(", match[2])[0]
        try:
            words = shlex.split(rest)
        except ValueError:
            words = rest.split()
        yield match[1], words


with open(f"{SOURCE}/doc/events.md", encoding="utf-8") as events_file:
    EVENTS = set(re.findall(r"`([a-z0-9_.]+)`", events_file.read()))


def names_of(match):
    """Of a list of events those that every machine has, without group and rate."""
    listed = match[1].split(",") if match else []
    return [re.sub(r"^\w+:|@.*", "", name) for name in listed if re.fullmatch(r"(?!usdt|gpu:pm)[\w:.]+(@\w+)?", name)]


def check_options(page, text, known):
    """Of each command, also of those in the text."""
    text = re.sub(r"\\\n\s*", " ", text)
    bad = []
    for program, words in commands_in(text):
        options, whole = known[program]
        for word in words:
            option = re.match(r"--([A-Za-z][\w-]*)", word) or re.match(r"-([A-Za-z])", word)
            if not word.startswith("-"):
                if program == "cpuperf":
                    break  # a command begins
                continue
            if option and option[1] not in options:
                bad.append(f"{page}: {program} {word}: there is no such option")
            value = re.match(r"--(report|output-format)=([a-z-]+)$", word)
            if value and not re.search(rf"\b{value[2]}\b", whole):
                bad.append(f"{page}: {program} {word}: there is no such word")
            events = re.match(r"(?:--event=|-e)(.+)", word) if program == "cpuperf" else None
            bad += [f"{page}: {program} {word}: there is no event {event}" for event in names_of(events)
                    if event not in EVENTS]
            spec = re.match(r"--spec-file=([a-z0-9-]+)$", word)
            if spec and not os.path.exists(f"{SOURCE}/specs/{spec[1]}.cpspec") and f"file {spec[1]}.cpspec" not in text:
                bad.append(f"{page}: {program} {word}: there is no such spec")
    return bad


def hidden_roots(page, text):
    """Blocks that need root, where no word that is seen says so: above it in its section, or in its commands."""
    return [f"{block.place}: needs root, and its section does not say so" for block in blocks(page, text)
            if "root" in block.directives and not re.search(r"\broot\b", "\n".join([block.before, *block.lines]))]


def make_programs(folder):
    """prog, old/prog and new/prog, by the commands of README, in what a clone has."""
    for name in "examples", "include":
        shutil.copytree(f"{SOURCE}/{name}", f"{folder}/{name}")
    with open(f"{SOURCE}/README.md", encoding="utf-8") as f:
        block = next(b for b in blocks("README.md", f.read()) if any("examples/prog.c" in line for line in b.lines))
    faults, _ = run_block(block, folder)
    assert not faults, faults


def environment(folder):
    return {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "CPUPERF_COLUMNS": COLUMNS, "LC_ALL": "C.UTF-8",
            "XDG_STATE_HOME": f"{folder}/state", "PWD": folder}


def wait_until_it_runs(process, command):
    """Until it has become its program: what is measured has its name."""
    name = os.path.basename(shlex.split(command)[0])[:15]
    while open(f"/proc/{process.pid}/comm", encoding="ascii").read().strip() != name:
        assert process.poll() is None, command


def run_step(block, command, folder):
    """What the command prints, on both, and its status."""
    meanwhile = []
    for rule in block.values("with"):
        number, other = rule.split(" = ")
        process = subprocess.Popen(shlex.split(other), cwd=folder, env=environment(folder), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        wait_until_it_runs(process, other)
        meanwhile.append(process)
        command = re.sub(rf"\b{number}\b", str(process.pid), command)
    try:
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment(folder), check=False, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    finally:
        for process in meanwhile:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return done.stdout.rstrip("\n").split("\n"), done.returncode


def run_block(block, folder):
    """The faults of a block; and, for CPUPERF_RENEW, its lines."""
    lines, shift = list(block.lines), 0
    for i, (command, shown, at) in enumerate(block.steps):
        printed, status = run_step(block, command, folder)
        wanted = int(block.value("status") or 0) if i == len(block.steps) - 1 else 0
        if status != wanted:
            return [f"{block.place}: {command}: status {status}, not {wanted}:\n" + "\n".join(printed)], lines
        if RENEW and shown and shown[0].startswith("@@"):
            new = [p for p in printed if "[kernel]" not in p and "records processed" not in p]
            while new and not new[0]:
                del new[0]
            new = new[:int(shown[0].split()[1])]
            lines[at + shift:at + shift + 1] = new
            shift += len(new) - 1
            continue
        line = missing(shown, printed, block.values("varies"))
        if line is not None and IS_AS_SHOWN:
            return [f"{block.place}: {command}: is not printed: {line}\nprinted is\n" + "\n".join(printed)], lines
    return [], lines


def skips(block, folder):
    """Why a block is not run; None: it is."""
    if block.language != "console":
        name = block.value("file")
        if name:
            with open(f"{folder}/{name}", "w", encoding="utf-8") as out:
                out.write("\n".join(block.lines) + "\n")
        return ""
    if block.value("not run"):
        return block.value("not run")
    if "root" in block.directives:
        return programs_missing()
    return None


def run_page(page, folder):
    """Runs what a page shows; its faults, how many blocks were run, and how many were skipped."""
    path = f"{SOURCE}/{page}"
    with open(path, encoding="utf-8") as f:
        text = f.read()
    faults, nr_run, nr_skipped, lines = [], 0, 0, text.split("\n")
    if not IS_AS_SHOWN:
        print(f"skip: {page}: lines are compared with those of root: {programs_missing()}", flush=True)
    for block in blocks(page, text):
        reason = skips(block, folder)
        if reason:
            print(f"skip: {block.place}: {reason}", flush=True)
            nr_skipped += 1
        if reason is not None:
            continue
        found, new = run_block(block, folder)
        faults += found
        nr_run += 1
        if new != block.lines:
            lines[block.first:block.first + len(block.lines)] = ["\n".join(new)] + [None] * (len(block.lines) - 1)
    if RENEW:
        with open(path, "w", encoding="utf-8") as out:
            out.write("\n".join(line for line in lines if line is not None))
    return faults, nr_run, nr_skipped


KNOWN = None


def known_options():
    global KNOWN
    KNOWN = KNOWN or {"cpuperf": options_of(CPUPERF), "cpuperf_print": options_of(PRINT)}
    return KNOWN
