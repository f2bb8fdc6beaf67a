"""The cost of a launcher while its workers sleep and nothing happens."""

import contextlib
import time

from processes import Started, cpu_seconds, wake_ups

WORKERS = 8
TARGET_SECONDS_A_MINUTE = 0.1


def measure(options, contenders, report):
    rows = []
    with contextlib.ExitStack() as stack:
        # All at the same time: idle ones do not disturb each other, and it takes a minute, not four.
        watched = []
        for contender in contenders:
            if contender.is_loop:
                continue
            started = stack.enter_context(Started(contender, WORKERS, options.slow_limit))
            if started.wait_for_workers():
                watched.append((contender, started))
            else:
                rows.append([contender.name, "did not start its workers", "", ""])
        time.sleep(3)  # what happens at the start is not idling
        before = [costs(started) for _, started in watched]
        time.sleep(options.idle_seconds)
        after = [costs(started) for _, started in watched]

    for (contender, _), (cpu, wakes), (cpu_then, wakes_then) in zip(watched, after, before):
        a_minute = (cpu - cpu_then) * 60 / options.idle_seconds
        target = ""
        if contender.name == "muster":
            target = report.judge("idle CPU", a_minute, TARGET_SECONDS_A_MINUTE, "s a minute")
        rows.append([contender.name, f"{a_minute:.4f} s", wakes - wakes_then, target])
    report.table(
        f"Idle for {options.idle_seconds} s with {WORKERS} sleeping workers",
        ["launcher", "CPU a minute", "wake-ups", "target"],
        rows,
    )


def costs(started):
    own = started.own()
    return sum(cpu_seconds(pid) for pid in own), sum(wake_ups(pid) for pid in own)
