"""A page in headless Chromium, driven by the DevTools protocol over two pipes: NUL-separated JSON, for which
Python's standard library is enough. What the page logs, throws and asks the network for is kept.
"""
import atexit
import base64
import functools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

from patience import PATIENCE_S

# The first has no windows of its own to draw, and takes a third of the time.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")


def find():
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Program:
    """The browser itself, once for all pages of a test: to start it takes a second of CPU."""

    def __init__(self):
        self.number, self.waiting, self.answers, self.pages = 0, b"", {}, {}
        self.folder = tempfile.mkdtemp(prefix="browser.")
        to_read, self.to = os.pipe()
        self.back, back_write = os.pipe()
        # the pipes are descriptors 3 and 4 of the browser
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", f'exec "$@" 3<&{to_read} 4>&{back_write}', "sh", find(), "--headless=new",
             "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
             "--disable-dev-shm-usage", "--disable-background-networking", "--disable-extensions",
             "--disable-sync", "--no-proxy-server", "--force-device-scale-factor=1",
             "--force-prefers-reduced-motion", "--lang=en", f"--user-data-dir={self.folder}", "about:blank"],
            pass_fds=(to_read, back_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": self.folder})
        os.close(to_read)
        os.close(back_write)

    def end(self):
        try:
            self.call("Browser.close")
            self.process.wait(10)
        except (OSError, TimeoutError, EOFError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.back)
        shutil.rmtree(self.folder, ignore_errors=True)

    def take(self, until):
        """One message: an answer, or an event of a page."""
        while b"\0" not in self.waiting:
            if not select.select([self.back], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self.back, 1 << 20)
            if not data:
                raise EOFError("the browser has ended")
            self.waiting += data
        text, _, self.waiting = self.waiting.partition(b"\0")
        message = json.loads(text)
        if "id" in message:
            self.answers[message["id"]] = message
        elif message.get("sessionId") in self.pages:
            self.pages[message["sessionId"]].events.append(message)

    def call(self, method, session=None, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE_S
        while self.number not in self.answers:
            self.take(until)
        answer = self.answers.pop(self.number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]


@functools.lru_cache(maxsize=None)
def program():
    running = Program()
    atexit.register(running.end)
    return running


class Browser:
    """A window, of which the others know nothing: with Browser(size) as page: page.open(path)."""

    def __init__(self, width=1280, height=1000, dark=False):
        self.width, self.height, self.dark = width, height, dark
        self.events = []

    def __enter__(self):
        self.program = program()
        self.context = self.program.call("Target.createBrowserContext")["browserContextId"]
        target = self.program.call("Target.createTarget", url="about:blank", browserContextId=self.context,
                                   width=self.width, height=self.height, newWindow=True)["targetId"]
        self.session = self.program.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.program.pages[self.session] = self
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=self.width, height=self.height,
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if self.dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"}])
        return self

    def __exit__(self, *unused):
        del self.program.pages[self.session]
        try:
            self.program.call("Target.disposeBrowserContext", browserContextId=self.context)
        except (OSError, TimeoutError, EOFError):  # it has ended: the test has failed by that
            pass

    def call(self, method, **params):
        return self.program.call(method, self.session, **params)

    def open(self, path):
        """Returns when it is loaded; anew, also where only what is behind # differs."""
        if "#" in path:
            self.load("about:blank")
        self.load("file://" + os.path.abspath(path))
        self.settle()

    def load(self, url):
        self.events.clear()
        self.call("Page.navigate", url=url)
        self.loaded()

    def follow(self, statement):
        """Does what has the page load anew."""
        self.events.clear()
        self.run(f"setTimeout(() => {{ {statement}; }}, 0) && null")
        self.loaded()

    def loaded(self):
        until = time.monotonic() + PATIENCE_S
        while not any(e["method"] == "Page.loadEventFired" for e in self.events):
            self.program.take(until)

    def run(self, expression):
        """The value of an expression of JavaScript."""
        out = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                        awaitPromise=True)
        if "exceptionDetails" in out:
            raise RuntimeError(f"{expression}: {out['exceptionDetails']}")
        return out["result"].get("value")

    def settle(self):
        """Until what was done has been drawn."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame("
                 "() => setTimeout(done, 0))))")

    def until(self, expression):
        """Waits for what the page does in its own time."""
        end = time.monotonic() + PATIENCE_S
        while not self.run(expression):
            assert time.monotonic() < end, (expression, self.run(
                "document.activeElement.outerHTML"), self.run("[scrollX, scrollY]"))
            self.settle()

    def assert_quiet(self):
        problems = self.problems()
        assert problems == [], problems

    def problems(self):
        """What went wrong: exceptions, errors and warnings of the console and of the browser."""
        return [e["params"] for e in self.events
                if e["method"] in ("Runtime.exceptionThrown", "Log.entryAdded") or
                e["method"] == "Runtime.consoleAPICalled"]

    def requests(self):
        return [e["params"]["request"]["url"] for e in self.events
                if e["method"] == "Network.requestWillBeSent"]

    # ---- a person

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)
        self.settle()

    def drag(self, x1, x2, y):
        self.mouse("mouseMoved", x1, y)
        self.mouse("mousePressed", x1, y, button="left", buttons=1, clickCount=1)
        for i in range(1, 5):
            self.mouse("mouseMoved", x1 + (x2 - x1) * i / 4, y, button="left", buttons=1)
        self.mouse("mouseReleased", x2, y, button="left", clickCount=1)
        self.settle()

    def box(self, selector):
        """x, y, width, height in view, to which the page is scrolled."""
        return self.run(f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
                        "e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
                        "return [r.x, r.y, r.width, r.height]; })()")

    def box_in(self, outer, selector):
        """The same of what scrolls within something else, from its top."""
        self.box(outer)
        return self.run(f"(() => {{ document.querySelector({json.dumps(outer)}).scrollTop = 0;"
                        f"const r = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
                        "return [r.x, r.y, r.width, r.height]; })()")

    def click_on(self, selector):
        self.box(selector)
        self.settle()  # the browser finds what is at a place by what it has drawn
        x, y, width, height = self.box(selector)
        self.click(x + width / 2, y + height / 2)

    def key(self, key, modifiers=0):
        codes = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38,
                 "ArrowRight": 39, "ArrowDown": 40, "Home": 36}
        text = {"text": "\r"} if key == "Enter" else {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, modifiers=modifiers,
                      windowsVirtualKeyCode=codes.get(key, 0), **(text if kind == "keyDown" else {}))
        self.settle()

    def type(self, text):
        self.call("Input.insertText", text=text)
        self.settle()

    def search(self, text):
        """Writes it into the search line of the page, and leaves that."""
        self.run(f"(() => {{ const e = document.getElementById('search'); e.value = {json.dumps(text)};"
                 "for (const kind of ['input', 'change']) e.dispatchEvent(new Event(kind, {bubbles: true})); })()")
        self.settle()

    def screenshot(self, path, whole=False):
        out = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as f:
            f.write(base64.b64decode(out["data"]))
