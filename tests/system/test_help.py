"""cpuperf help and --manual: each topic has its page, which man shows, or whose text is printed where there is no man; the
short help is a screen of options that exist."""
import glob
import gzip
import os
import re
import shutil
import stat
import subprocess

import browser
from kit import CPUPERF, PRINT, output, run, run_checks, skip

SOURCE = os.environ["SOURCE_DIR"]
PAGES = sorted(p for s in "1357" for p in glob.glob(f"{SOURCE}/doc/*.{s}"))
SCREEN_LINES = 50
NOWHERE = {"PATH": "/nonexistent"}


def topics():
    """Name and summary of each, as the list has them."""
    return re.findall(r"^  (\S+) +(.+)$", output(CPUPERF, "help"), re.M)


def name_of(page):
    with open(page, encoding="utf-8") as f:
        return re.search(r"^\.SH NAME\n(.*)", f.read(), re.M)[1].replace("\\-", "-").split(" - ")


def write_program(folder, name, text):
    os.makedirs(f"{folder}/bin", exist_ok=True)
    with open(f"{folder}/bin/{name}", "w", encoding="ascii") as out:
        out.write(f"#!/bin/sh\n{text}\n")
    os.chmod(f"{folder}/bin/{name}", stat.S_IRWXU)
    return {"PATH": f"{folder}/bin:{os.environ['PATH']}"}


def check_topics(folder):
    """Each page of section 7 is a topic, with the summary of its NAME, and man gets its file."""
    found = dict(topics())
    seven = dict(name_of(page) for page in PAGES if page.endswith(".7"))
    assert {f"cpuperf-{name}": text for name, text in found.items() if f"cpuperf-{name}" in seven} == seven
    man = write_program(folder, "man", 'echo "man: $@"')
    shown = {name: output(CPUPERF, "help", name, env=man) for name in found}
    files = {re.fullmatch(r"man: -l (\S+)\n", text)[1] for text in shown.values()}
    assert {os.path.basename(f).removesuffix(".gz") for f in files} == {os.path.basename(page) for page in PAGES}
    assert all(os.path.exists(f) for f in files)


def check_words(_folder):
    """A topic is found by what people call it; what is near is offered."""
    for word, page in (("waits", "cpuperf-waits"), ("cpuperf-waits", "cpuperf-waits"), ("lock", "cpuperf-waits"),
                       ("leak", "cpuperf-heap"), ("what-does-it-wait-for", "cpuperf-waits"), ("cpspec", "cpspec"),
                       ("cpuperf_print", "cpuperf_print"), ("sudo", "cpuperf-rights"), ("WAITS", "cpuperf-waits"), ("Sudo", "cpuperf-rights")):
        assert run(CPUPERF, "help", word, env=NOWHERE).stdout.startswith(f"NAME\n       {page} - "), word
    for word, hint in (("wiats", "did you mean waits?"), ("leek", "did you mean leak?"), ("xyzzyx", "cpuperf help lists all"), ("", "cpuperf help lists all")):
        done = run(CPUPERF, "help", word, code=2)
        assert not done.stdout and f'there is no topic "{word}"\n  hint: {hint}' in done.stderr, done
    assert "one topic at a time" in run(CPUPERF, "help", "heap", "waits", code=2).stderr


def check_a_program_named_help(folder):
    """It is measured behind --."""
    path = write_program(folder, "help", "echo a program")
    assert run(CPUPERF, "--output=-", "--", "help", env=path).stdout == "a program\n"
    assert "cpuperf help TOPIC shows" in output(CPUPERF, "help", env=path)


def letters(text):
    """Without blanks: mandoc breaks a line at a hyphen, too."""
    return "".join(text.split())


def check_without_man(_folder):
    """The text of a page has the letters that mandoc has, in their order; a message says what is missing."""
    if subprocess.run(["sh", "-c", "command -v mandoc"], check=False, capture_output=True).returncode:
        skip("no mandoc to compare with")
    for name, _ in topics():
        done = run(CPUPERF, "help", name, env=NOWHERE)
        page = re.search(r"there is no man here \(Debian: man-db\): the text of (\S+)\((\d)\) follows", done.stderr)
        made = output("mandoc", "-T", "utf8", f"{SOURCE}/doc/{page[1]}.{page[2]}")
        made = re.sub(r".\x08", "", made).strip().split("\n")
        assert letters("".join(made[1:-1])) == letters(done.stdout), name
        lines = done.stdout.split("\n")
        assert page[2] != "7" or sum(len(line) > 80 for line in lines) <= len(lines) / 20, name


def check_pages_compressed_or_missing(folder):
    """As a distribution has them: the text is the same. One that is not there is named with its package."""
    os.makedirs(f"{folder}/p/bin")
    os.makedirs(f"{folder}/p/share/man/man7")
    program = shutil.copy(CPUPERF, f"{folder}/p/bin/cpuperf")
    with open(f"{SOURCE}/doc/cpuperf-waits.7", "rb") as page, gzip.open(f"{folder}/p/share/man/man7/cpuperf-waits.7.gz", "wb") as to:
        to.write(page.read())
    assert run(program, "help", "waits", env=NOWHERE).stdout == run(CPUPERF, "help", "waits", env=NOWHERE).stdout
    for env in (NOWHERE, write_program(folder, "man", "exit 16")):
        said = run(program, "help", "heap", env=env, code=1).stderr
        assert "cpuperf-heap(7) is not installed" in said and "package cpuperf" in said, said


def check_manual_without_screen(_folder):
    """Man shows the topic, and the message says why."""
    none = {"DISPLAY": None, "WAYLAND_DISPLAY": None, "BROWSER": None, **NOWHERE}
    done = run(CPUPERF, "--manual=waits", env=none)
    assert done.stdout.startswith("NAME\n       cpuperf-waits"), done.stdout
    assert "there is no screen" in done.stderr or "are not installed" in done.stderr, done.stderr
    assert run(CPUPERF, "--manual", env=none).stdout.startswith("NAME\n       cpuperf - ")
    assert "did you mean waits?" in run(CPUPERF, "--manual=wiats", code=2, env=none).stderr
    assert "mutually exclusive" in run(CPUPERF, "--manual", "--event=page_faults", code=2).stderr


def check_manual_in_browser(folder):
    """Where its pages are, the browser gets that of the topic."""
    page = os.path.realpath(f"{os.path.dirname(CPUPERF)}/../share/doc/cpuperf/manual/what-does-it-wait-for.html")
    opened = write_program(folder, "xdg-open", f'echo "$1" >{folder}/opened')
    done = run(CPUPERF, "--manual=lock", env={**opened, "DISPLAY": ":9", "SUDO_UID": None})
    if not os.path.exists(page):
        assert "are not installed" in done.stderr, done.stderr
        print("skip: a page in the browser: built without mkdocs")
        return
    with open(f"{folder}/opened", encoding="utf-8") as f:
        assert f.read() == f"{page}\n"


def check_manual_is_searched(_folder):
    """A page of a file finds the words of other pages, and asks nothing of a network."""
    site = os.path.realpath(f"{os.path.dirname(CPUPERF)}/../share/doc/cpuperf/manual")
    if not browser.find() or not os.path.exists(f"{site}/index.html"):
        print("skip: the search of the manual: no chromium, or built without mkdocs")
        return
    with browser.Browser() as page:
        page.open(f"{site}/index.html")
        page.click_on("#search")
        page.type("lock writer")
        first = page.run("document.querySelector('#found a').getAttribute('href')")
        assert first.startswith("what-does-it-wait-for.html#"), first
        page.open(f"{site}/{first}")
        assert page.run("document.querySelector('[aria-current]').textContent") == "What does it wait for?"
        assert page.run("document.querySelector('main h1').textContent") == "What does it wait for?"
        assert all(url.startswith("file:///") for url in page.requests()), page.requests()
        page.assert_quiet()


def check_short_help(_folder):
    """A screen, of options that the whole help has, and that lists what to ask next."""
    for program in (CPUPERF, PRINT):
        short, whole = output(program, "--help"), output(program, "--help=all")
        assert len(short.split("\n")) <= SCREEN_LINES and max(map(len, short.split("\n"))) <= 80, short
        for heading in re.findall(r"^\S.*:$", short, re.M):
            assert f"\n{heading}\n  " in short, heading
        rows = re.findall(r"^  ((?:-\w, )?--\S+)", short[short.index("\n\n", short.index("Usage:")):], re.M)
        assert len(rows) > 15
        for row in rows:
            assert re.search(rf"^  {re.escape(row)}$", whole, re.M), row
        assert "--help=all" in short and len(whole) > 10 * len(short)


run_checks(globals())
