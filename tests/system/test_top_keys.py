#!/usr/bin/env python3
"""Each key of the screen of functions (cpuperf --top), in each of its pages, in windows from 60x15 to 300x100: in each
window a part of them, in all windows all. The keys are those of the tables in the code, so that none is forgotten.
Software events only."""
import concurrent.futures
import contextlib
import os
import re
import subprocess
import time

from kit import CPUPERF, PRINT, run_checks, skip, stride
from patience import PATIENCE_S
from terminal import Terminal, have_tmux

MIX, SOURCE = os.environ["MIX"], os.environ["SOURCE_DIR"]
SIZES = [(60, 15), (80, 24), (120, 40), (200, 60), (300, 100)]
# What tmux calls the keys of the tables.
NAMES = {"'\\r'": "Enter", "'\\n'": "C-j", "' '": "Space", "'L' - '@'": "C-l", "KEY_CODE_UP": "Up", "KEY_CODE_DOWN": "Down",
         "KEY_CODE_LEFT": "Left", "KEY_CODE_RIGHT": "Right", "KEY_CODE_PAGE_UP": "PageUp", "KEY_CODE_PAGE_DOWN": "PageDown",
         "KEY_CODE_HOME": "Home", "KEY_CODE_END": "End", "KEY_CODE_ESCAPE": "Escape", "KEY_CODE_BACKSPACE": "BSpace",
         "KEY_F(1)": "F1", "KEY_ENTER": "KPEnter", "KEY_UP": "Up", "KEY_DOWN": "Down", "KEY_LEFT": "Left",
         "KEY_RIGHT": "Right", "KEY_PPAGE": "PageUp", "KEY_NPAGE": "PageDown", "KEY_HOME": "Home", "KEY_END": "End",
         "KEY_BACKSPACE": "BSpace", "KEY_RESIZE": None}
CLICK, RELEASE, WHEEL_UP, WHEEL_DOWN = 0, 3, 64, 65
# Of a page: the line of the screen that shows that it is open, and the key that opens it from the rows.
PAGES = {"rows": (2, r" functions$", None), "calls": (2, r" function$", "Enter"), "code": (1, r"^ code of ", "a"),
         "filter": (-1, r"^ filter \(pid", "f"), "search": (-1, r"^ search: ", "/"), "help": (1, r"^ Keys; ", "?")}


def table(path, begin):
    with open(f"{SOURCE}/lib/dashboard/{path}", encoding="utf-8") as source:
        return source.read().split(begin, 1)[1].split("\n};", 1)[0]


def all_keys():
    """All keys by their names for tmux; one that NAMES lacks is an error."""
    codes = [code for row in re.findall(r"^ +\{\{([^}]*)\}", table("top.c", "top_key_row rows[] = {"), re.M)
             for code in re.split(r", (?!')|, (?=')", row)]
    codes += re.findall(r"^ +\{(KEY_[^,]*),", table("terminal.c", "} keys[] = {"), re.M)
    found = [code[1] if re.fullmatch(r"'[^\\ ]'", code) else NAMES[code] for code in codes]
    assert len(found) > 40, found
    return sorted(set(key for key in found if key))


def mouse(button, x, y):
    """What a terminal sends: the button, and for a click that it is let go."""
    return tuple(code for b in (button, RELEASE)[:1 + (button == CLICK)]
                 for code in (27, ord("["), ord("M"), 32 + b, 33 + x, 33 + y))


def press_mouse(t, button, x, y):
    t.tmux("send-keys", "-H", *(f"{code:x}" for code in mouse(button, x, y)))


def settle(t):
    """The screen, once two looks at it are the same."""
    text, before = t.text(), None
    while text != before:
        time.sleep(0.03)
        text, before = t.text(), text
    return text


def is_open(text, page):
    line, pattern, _ = PAGES[page]
    lines = text.rstrip("\n").split("\n")
    is_prompt = any(re.search(PAGES[p][1], lines[-1]) for p in ("filter", "search"))
    has_other = len(lines) > 2 and any(re.search(PAGES[p][1], lines[1]) for p in ("code", "help"))
    if page == "rows":  # all of them
        return len(lines) > 4 and not is_prompt and not has_other and re.search(pattern, lines[2]) and \
            " filter: " not in lines[1] and " search: " not in lines[1] and " %" in lines[3]
    return len(lines) > 2 and re.search(pattern, lines[line]) and (page != "calls" or not (is_prompt or has_other))


def go(t, page, text=""):
    """Opens a page from wherever the keys before have led; text: the screen, if it is known."""
    end = time.monotonic() + PATIENCE_S
    while not is_open(text, page) and not is_open(text := settle(t), page):
        assert time.monotonic() < end, (page, text)
        if is_open(text, "rows"):
            t.keys("Home", PAGES[page][2])
        elif re.search(r" (commands|processes|threads)$(.|\n)*\n q quit", text, re.M):
            t.keys("v")
        else:
            t.keys("Escape")
        time.sleep(0.05)


def is_whole(text, width, height):
    """Nothing wraps or scrolls: the head is the first line, the foot the last, and no line is longer."""
    lines = text.rstrip("\n").split("\n")
    return lines[0].startswith(" cpu_clock") and len(lines) == height and lines[-1].strip() and \
        max(map(len, lines)) <= width


def press_one(t, width, height, page, key):
    """The screen a little later; that is time enough nearly always."""
    what = ("-H", *(f"{code:x}" for code in key)) if isinstance(key, tuple) else (key,)
    text = t.tmux("send-keys", *what, ";", "run-shell", "-d", "0.03", ";", "capture-pane", "-p")
    end = time.monotonic() + PATIENCE_S
    while not is_whole(text, width, height):
        assert time.monotonic() < end, (page, key, width, height, text)
        text = t.text()
    return text


def press_all(t, width, height, keys):
    text = ""
    for page in PAGES:
        for key in [*keys, *(mouse(button, width // 2, height // 2) for button in (CLICK, WHEEL_UP, WHEEL_DOWN))]:
            if key == "q" and page in ("rows", "calls", "code"):
                continue  # it ends all, below
            go(t, page, text)
            text = press_one(t, width, height, page, key)


def expect_effects(t):
    """Of the keys that test_top.py does not press."""
    go(t, "rows")
    for key, changed in (("s", "  s total  "), ("t", "  t all  "), ("p", " PAUSED")):
        if changed in t.text():
            t.press(key, changed, absent=True)
    is_calls = PAGES["calls"][1]  # the line above may be cut: it says more on a busy machine
    for forth, back in (("l", "h"), ("Right", "Left"), ("C-j", "BSpace")):
        go(t, "rows")
        t.press("Home", r" functions$")
        t.press(forth, is_calls)
        t.press(back, r" functions$")
    go(t, "rows")
    t.press("Space", " PAUSED$")
    t.press("Space", " PAUSED$", absent=True)
    t.press("F1", r"^ Keys; any closes")
    go(t, "code")
    t.resize(120, 10)
    first = r"\A.*\n.*\n\n cpu_clock: "
    t.wait(first + r"(.*\n){6}.*Esc back")
    for down, up in (("j", "k"), ("Down", "Up"), ("PageDown", "PageUp"), ("G", "g"), ("End", "Home")):
        t.press(down, first, absent=True)
        t.press(up, first)
    press_mouse(t, WHEEL_DOWN, 9, 5)
    t.wait(first, absent=True)
    press_mouse(t, WHEEL_UP, 9, 5)
    t.wait(first)
    t.resize(120, 40)
    go(t, "rows")
    t.press("t", r"▼ self, all")  # shares that hardly change
    t.press("Space", " PAUSED$")
    rows = settle(t).split("\n")
    at = next(i for i, line in enumerate(rows) if line.endswith(" work_b"))
    press_mouse(t, CLICK, 30, at)
    t.press("Enter", is_calls)
    t.wait(r" work_b$")
    assert "caller" not in t.wait(r"caller.* run$").split("work_b")[1]
    t.press("Escape", r" functions$")
    t.press("Space", " PAUSED$", absent=True)
    t.press("t", r"▼ self, \d+ s")


def run_window(t, size, keys, last):
    press_all(t, *size, keys)
    if size[0] == 120:
        expect_effects(t)
    go(t, last)
    t.keys("q")
    t.wait(r"^status 0\.", history=True)


def check_every_key(folder):
    """One window records and shows, the others show the same session."""
    everything = all_keys()
    keys = [stride(everything, -(-len(everything) // (len(SIZES) - 1)), i) for i in range(len(SIZES))]
    with contextlib.ExitStack() as stack:
        mix = stack.enter_context(subprocess.Popen([MIX, "ms", "600000"], stdout=subprocess.DEVNULL))
        stack.callback(mix.kill)
        windows = []
        for width, height in SIZES:
            command = f"{PRINT} --live s" if windows else f"{CPUPERF} --top -F 199 --pid={mix.pid} --output=s"
            windows.append(stack.enter_context(
                Terminal(["sh", "-c", f"cd {folder} && exec {command}"], width, height)))
            windows[-1].wait(r"work_a$")
        # What ends the session ends last.
        with concurrent.futures.ThreadPoolExecutor(len(SIZES)) as pool:
            others = [pool.submit(run_window, *of) for of in zip(windows[1:], SIZES[1:], keys[1:],
                                                                 ("calls", "code", "rows", "rows"))]
            press_all(windows[0], *SIZES[0], keys[0])
            for other in others:
                other.result()
        go(windows[0], "code")
        windows[0].keys("q")
        windows[0].wait(r"^status 0\.", history=True)


if not have_tmux():
    skip("there is no tmux")
run_checks(globals())
