"""What test_bindings.py runs: marks by cpuperf.py. Prints what it found."""
import asyncio
import os
import sys
import threading

import cpuperf


@cpuperf.region("decorated")
def decorated(text):
    """Says so."""
    return text + text


@cpuperf.region("coroutine")
async def wait(turns):
    for _ in range(turns):
        await asyncio.sleep(0)


@cpuperf.region("generator")
def generate():
    yield 1


async def cross():
    await asyncio.gather(wait(1), wait(2))


def fail():
    with cpuperf.region("failing"):
        raise ValueError


def run_thread():
    cpuperf.thread_name("worker")
    with cpuperf.region("in thread"):
        pass


def main():
    with cpuperf.region("outer"):
        with cpuperf.region("request", 17):
            pass
        print(decorated("x"), decorated.__name__, decorated.__doc__)
    try:
        fail()
    except ValueError:
        cpuperf.instant("caught")
    cpuperf.begin("by hand", -1)
    cpuperf.end()
    cpuperf.value("queue", -5)
    cpuperf.value("true", True)
    cpuperf.value("wraps", (1 << 64) + 3)
    cpuperf.instant("ä\udc80\0cut" + "x" * 300)
    thread = threading.Thread(target=run_thread)
    thread.start()
    thread.join()
    asyncio.run(cross())
    cpuperf.pause()
    cpuperf.resume()
    print(*generate(), *cpuperf.span("generator")(generate)())
    print("on" if cpuperf.is_on() else "off", "ctypes" in sys.modules)
    sys.stdout.flush()
    with cpuperf.region("around fork"):
        pid = os.fork()
        if not pid:
            with cpuperf.region("in child"):
                pass
            os._exit(0)
        os.waitpid(pid, 0)


main()
sys.exit(7)
