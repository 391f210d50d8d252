"""Marks of a Python program: what it is doing, measured by `cpuperf --regions -- python3 prog.py`.

    import cpuperf

    with cpuperf.region("parse"):            # a region of this thread, until the end of the block
        ...
    with cpuperf.region("request", 17):      # with a number
        ...
    @cpuperf.region("sort")                  # each call of the function
    def sort(rows): ...                      # (not of a generator: mark the code within it)

    with cpuperf.span("fetch"):              # the same where regions may cross: in coroutines
        await fetch()

    cpuperf.begin("read"); cpuperf.end()     # end() ends the innermost region of this thread
    cpuperf.instant("started")               # something happened
    cpuperf.value("queue", len(queue))       # an integer, at this time
    cpuperf.thread_name("worker")
    cpuperf.pause(); cpuperf.resume()        # samples between them are left out (pause_thread,
                                             # resume_thread: those of this thread)

Needs libcpuperf_marks.so and nothing else. In a program that nobody measures nothing is loaded, and
all of this does nothing: a decorated function is the function itself. CPUPERF_MARKS_LIBRARY, which
cpuperf sets for the command, is the path of the library; where it is set otherwise, the library is
loaded and the functions are called, too.

SPDX-License-Identifier: MIT
"""
import functools
import inspect
import itertools
import os
import threading

__all__ = ["region", "span", "begin", "end", "instant", "value", "thread_name", "pause", "resume",
           "pause_thread", "resume_thread", "is_on"]

_FIRST_KEY, _NR_KEYS = 1 << 30, 1 << 30


def _load():
    """The library, or None."""
    path = os.environ.get("CPUPERF_MARKS_LIBRARY")
    if not path and not os.environ.get("CPUPERF_MARKS") or os.getuid() != os.geteuid():
        return None
    try:
        import ctypes  # pylint: disable=import-outside-toplevel
        # The calls are shorter than releasing the interpreter's lock.
        lib = ctypes.PyDLL(path or "libcpuperf_marks.so.1")
        text, number, key = ctypes.c_char_p, ctypes.c_int64, ctypes.c_uint32
        for name, arguments in {
                "begin": [text], "begin_number": [text, number], "end": [], "instant": [text], "int": [text, number],
                "begin_block": [text], "begin_number_block": [text, number], "end_block": [ctypes.c_uint64],
                "thread_name": [text], "pause": [], "resume": [], "pause_thread": [], "resume_thread": [],
                "begin_keyed": [key, text], "begin_number_keyed": [key, text, number],
                "end_keyed_anywhere": [key]}.items():
            function = getattr(lib, "cpuperf_marks_" + name)
            function.argtypes, function.restype = arguments, ctypes.c_uint64 if "begin" in name and "block" in name else None
        return lib
    except (ImportError, OSError, AttributeError):
        return None


_lib = _load()


def _bytes(name):
    return str(name).encode("utf-8", "replace")


class _Nothing:
    """A region or span where no marks are received."""
    __slots__ = ()

    def __enter__(self):
        return self

    def __exit__(self, *what):
        return None

    def __call__(self, function):
        return function


class _Region:
    """May be entered by several threads at once, and again within itself."""
    __slots__ = ("name", "number", "begun")

    def __init__(self, name, number=None):
        self.name, self.number = _bytes(name), number
        self.begun = {}  # of each thread, a list

    def __enter__(self):
        begun = (_lib.cpuperf_marks_begin_block(self.name) if self.number is None
                 else _lib.cpuperf_marks_begin_number_block(self.name, int(self.number)))
        self.begun.setdefault(threading.get_ident(), []).append(begun)
        return self

    def __exit__(self, *what):
        own = threading.get_ident()
        begun = self.begun.get(own)
        if not begun:  # a generator, which another thread has begun
            return
        _lib.cpuperf_marks_end_block(begun.pop())
        if not begun:
            del self.begun[own]

    def __call__(self, function):
        return _decorate(function, lambda: self, lambda: _Span(self.name, self.number))


class _Span:
    """For one use: a new one has a key of its own."""
    __slots__ = ("name", "number", "key")
    keys = itertools.count()

    def __init__(self, name, number=None):
        self.name, self.number = name if isinstance(name, bytes) else _bytes(name), number
        self.key = 0

    def __enter__(self):
        self.key = _FIRST_KEY + next(_Span.keys) % _NR_KEYS
        if self.number is None:
            _lib.cpuperf_marks_begin_keyed(self.key, self.name)
        else:
            _lib.cpuperf_marks_begin_number_keyed(self.key, self.name, int(self.number))
        return self

    def __exit__(self, *what):
        _lib.cpuperf_marks_end_keyed_anywhere(self.key)

    def __call__(self, function):
        make = lambda: _Span(self.name, self.number)
        return _decorate(function, make, make)


def _decorate(function, plain, crossing):
    """A coroutine leaves the thread to others while it waits. The call of a generator only makes it: the
    function itself is returned, as where nothing is measured."""
    if inspect.iscoroutinefunction(function):
        @functools.wraps(function)
        async def wrapped(*args, **kwargs):
            with crossing():
                return await function(*args, **kwargs)
    elif inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        wrapped = function
    else:
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with plain():
                return function(*args, **kwargs)
    return wrapped


if _lib:
    region, span = _Region, _Span
    end = _lib.cpuperf_marks_end
    pause, resume = _lib.cpuperf_marks_pause, _lib.cpuperf_marks_resume
    pause_thread, resume_thread = _lib.cpuperf_marks_pause_thread, _lib.cpuperf_marks_resume_thread

    def begin(name, number=None):
        """Begins a region of this thread."""
        if number is None:
            _lib.cpuperf_marks_begin(_bytes(name))
        else:
            _lib.cpuperf_marks_begin_number(_bytes(name), int(number))

    def instant(name):
        """Something happened."""
        _lib.cpuperf_marks_instant(_bytes(name))

    def value(name, number):
        """An integer, at this time."""
        _lib.cpuperf_marks_int(_bytes(name), int(number))

    def thread_name(name):
        """Names this thread."""
        _lib.cpuperf_marks_thread_name(_bytes(name))

    def is_on():
        """Whether marks are received now."""
        return bool(_lib.cpuperf_marks_are_on())
else:
    _nothing = _Nothing()

    def region(name, number=None):  # pylint: disable=unused-argument
        """A region of this thread: `with region("name"):` or `@region("name")`."""
        return _nothing

    span = region

    def begin(name, number=None):
        """Begins a region of this thread."""

    def instant(name):
        """Something happened."""

    def value(name, number):
        """An integer, at this time."""

    def thread_name(name):
        """Names this thread."""

    def is_on():
        """Whether marks are received now."""
        return False

    def end():
        """Ends the innermost region of this thread."""

    pause = resume = pause_thread = resume_thread = end
