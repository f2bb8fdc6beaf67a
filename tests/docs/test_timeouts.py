"""Every timeout and pause that the program has as a number is in a table of docs/timeouts.md, and nothing else is."""

import math
import re
from collections import Counter

from pages import CODE, ROOT, page, plain, tables

UNITS = {"microseconds": 0.001, "milliseconds": 1, "seconds": 1_000, "minutes": 60_000, "hours": 3_600_000}
OF_PAGE = {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000}
OTHER_TYPES = {"Duration": 1, "int": 1, "timeval": 1_000, "double": 1_000}  # a plain number tells by its name that it is a time
NUMBER = re.compile(r"k\w*(Pause|Delay|Wait)\w*|k\w+Milliseconds")
UNIT = "|".join(UNITS)
CONSTANT = re.compile(rf"constexpr\s+(?:\w+::)*({UNIT}|{'|'.join(OTHER_TYPES)})\s+(k\w+)(?:\{{([^{{}};]*)\}}|\s*=\s*([^;]*));")
MEMBER = re.compile(rf"\b({UNIT})\s+([a-z]\w*)\{{(\d[\d']*)\}}")
UNNAMED = re.compile(rf"\b(({UNIT})\((\d[\d']*)\))")
OPTIONS = {"gang/gang_config.hpp", "run/hang_options.hpp"}  # 0 means never there, and is no time elsewhere


def time_of(unit, expression):
    """Milliseconds; what is no number or product stays as it is written."""
    digits = expression.replace("'", "").strip()
    digits = digits.split(",")[0] if unit == "timeval" else digits
    is_number = re.fullmatch(r"\d+( \* \d+)*", digits)
    return math.prod(map(int, digits.split(" * "))) * {**UNITS, **OTHER_TYPES}[unit] if is_number else digits


def times_in(text, file):
    """(line, name, time) of each time in a source."""
    text = re.sub(r"//[^\n]*", "", text)
    found = []
    for match in CONSTANT.finditer(text):
        unit, name, braced, assigned = match.groups()
        if unit not in ("int", "double") or NUMBER.fullmatch(name):
            found.append((match.start(), name, time_of(unit, braced or assigned)))
    rest = CONSTANT.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    found += [(match.start(), match[2], time_of(match[1], match[3])) for match in MEMBER.finditer(rest)]
    found += [(match.start(), match[1], time_of(match[2], match[3])) for match in UNNAMED.finditer(rest)]
    return [(text.count("\n", 0, at) + 1, name, time) for at, name, time in sorted(found) if time != 0 or file in OPTIONS]


def times_of_program():
    for folder in ("src", "launcher"):
        for path in sorted((ROOT / folder).rglob("*.[ch]pp")):
            file = str(path.relative_to(ROOT)).removeprefix("src/")
            yield from ((file, *time) for time in times_in(path.read_text(), file))


def times_of_page(text):
    """(file, name, time) of each row."""
    for rows in tables(text):
        if rows[0][0] == "Name":
            for name, value, file, *_ in rows[1:]:
                number = re.fullmatch(r"([\d,]+) (ms|s|min|h)", value)
                time = int(number[1].replace(",", "")) * OF_PAGE[number[2]] if number else plain(value).replace("'", "")
                yield plain(file), CODE.findall(name)[0], time


def differences(program, rows):
    """What is in one of them only, with the line of a source."""
    rows, missing = Counter(rows), []
    for file, line, *time in program:
        key = (file, *time)
        if rows[key] == 0:
            missing.append(f"{file}:{line}: {time[0]}, {time[1]} ms, is not in docs/timeouts.md")
        else:
            rows[key] -= 1
    return [*missing, *(f"docs/timeouts.md: {file} has no {name} of {time} ms" for file, name, time in rows.elements())]


def test_the_tables_have_every_time_of_the_program():
    assert differences(times_of_program(), times_of_page(page("timeouts.md"))) == []


def test_a_time_that_one_of_both_lacks_is_found():
    source = """
namespace chrono = std::chrono;
constexpr std::chrono::seconds kOne{5};  // constexpr std::chrono::seconds kNone{7};
inline constexpr milliseconds kTwo =
    kOne + milliseconds(1'000);
constexpr int kPauseMs = 4;
constexpr int kMostFiles = 4;
constexpr std::chrono::milliseconds kNothing{0};
  std::chrono::milliseconds left_{2'500};
  wait(std::chrono::seconds(3));
"""
    program = [("a.cpp", *time) for time in times_in(source, "a.cpp")]
    row = "| Name | Value | File |\n|---|---|---|\n| `{}` | {} | `a.cpp` |\n"
    only = list(times_of_page(row.format("kOne", "6 s")))

    assert [time[1:] for time in program] == [
        (3, "kOne", 5_000),
        (4, "kTwo", "kOne + milliseconds(1000)"),
        (6, "kPauseMs", 4),
        (9, "left_", 2_500),
        (10, "seconds(3)", 3_000),
    ]
    assert differences(program[:1], only) == [
        "a.cpp:3: kOne, 5000 ms, is not in docs/timeouts.md",
        "docs/timeouts.md: a.cpp has no kOne of 6000 ms",
    ]
    assert differences(program[:1], times_of_page(row.format("kOne", "5 s"))) == []
