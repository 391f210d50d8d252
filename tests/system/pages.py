"""The data of a page of --output-format=html, as its script decodes them."""
import json
import re

DIGITS = {c: i for i, c in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")}


def data_of(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])


def numbers(text):
    value = shift = 0
    for c in text:
        value |= (DIGITS[c] & 31) << shift
        shift = shift + 5 if DIGITS[c] & 32 else 0
        if not shift:
            yield value
            value = 0


def rows(text, *names):
    """Of numbers, so many at a time."""
    of = numbers(text)
    return [dict(zip(names, row)) for row in zip(*[of] * len(names), strict=True)]


def threads(data):
    return [{**t, "comm": data["comms"][t["comm"]]}
            for t in rows(data["threads"], "comm", "pid", "tid", "number", "host")]


def cells(data):
    """(group, slice, samples, weight) of each cell."""
    groups = rows(data["groups"], "side", "event", "thread", "region")
    of = numbers(data["cells"])
    for nr_groups in of:
        for _ in range(nr_groups):
            group, at = groups[next(of)], 0
            period = data["events"][group["event"]]["period"]
            for _ in range(next(of)):
                step = next(of)
                at += step // 2
                nr = next(of) + 2 if step % 2 else 1
                yield group, at, nr, nr * period or next(of)
