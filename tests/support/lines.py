"""Checks that all lines of the worker `chatty_lines` arrived whole and in order."""

import re
from collections import defaultdict


def chatty_line(stream, rank, number):
    return f"{stream} {rank} {number:06d} {'x' * (number * 7 % 90)}"


def chatty_text(stream, rank, count):
    """The expected content of that worker's file."""
    return "".join(chatty_line(stream, rank, number) + "\n" for number in range(count)).encode()


def assert_all_whole(console, workers, count, streams):
    """Fails unless these bytes hold each line of each worker once, whole, in order, prefixed."""
    seen = defaultdict(list)
    torn = []
    for line in console.decode().split("\n"):
        match = re.fullmatch(r"\[(\d+)\] (([OE]) (\d+) (\d{6}) x*)", line)
        if match and match[1] == match[4]:
            seen[match[3], int(match[1])].append(match[2])
        elif line and not line.startswith("muster: "):
            torn.append(line)
    assert torn[:5] == [], f"{len(torn)} torn lines"
    lost = {}
    for stream in streams:
        for rank in range(workers):
            expected = [chatty_line(stream, rank, number) for number in range(count)]
            if seen[stream, rank] != expected:
                lost[stream, rank] = count - len(seen[stream, rank])
    assert lost == {}, "lines that were lost, doubled or moved"
