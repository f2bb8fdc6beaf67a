"""Memory of all the launcher's own processes together, its workers not counted."""

from processes import Started, kilobytes

COUNTS = (1, 64, 1000)
TARGET_MEGABYTES = 8.0
TARGET_COUNT = 1


def measure(options, contenders, report):
    rows = []
    for count in COUNTS:
        for contender in contenders:
            if contender.is_slow and count > 64:
                continue  # a thousand sleepers under it take minutes and say nothing new
            rows.append(row_of(options, contender, count, report))
    report.table(
        "Memory of the launcher's own processes together",
        ["workers", "launcher", "processes", "peak RSS, summed", "PSS", "target"],
        rows,
    )


def row_of(options, contender, count, report):
    with Started(contender, count, options.slow_limit) as started:
        if not started.wait_for_workers():
            return [f"{count:,}", contender.name, "-", "did not start them all", "", ""]
        own = started.own()
        # Peaks are added up although they need not be at the same time: an upper bound.
        peak = sum(kilobytes(pid, "status", "VmHWM") for pid in own) / 1024
        shared_out = sum(kilobytes(pid, "smaps_rollup", "Pss") for pid in own) / 1024
    target = ""
    if contender.name == "muster" and count == TARGET_COUNT:
        target = report.judge("memory, one worker", peak, TARGET_MEGABYTES, "MB")
    return [
        f"{count:,}",
        contender.name,
        len(own),
        f"{peak:.1f} MB",
        f"{shared_out:.1f} MB",
        target,
    ]
