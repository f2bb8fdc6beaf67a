#!/usr/bin/env python3
"""Writes a linker script that puts side by side the functions that a start runs.

The kernel maps a program in blocks of 64 KiB, each at a page fault, and what is mapped counts as memory of the process. A start
runs a tenth of the program; spread over all of it that was half of its blocks, in guard and agent each.

Links the program of a build anew, runs it under valgrind and reads the linker's map. Two runs may differ in a function or two: how a
time is printed depends on its digits.
"""

import argparse
import bisect
import pathlib
import re
import subprocess
import tempfile

QUESTION = ["--version"]
JOB = ["--nproc-per-node", "2", "--", "/bin/true"]

HEAD = """\
/* What a start runs, put side by side by the linker. Made by scripts/build.d/start_order.py, which tells why. */
SECTIONS
{
  .text.start :
  {
    *(.text.startup .text.startup.*)
    /* instead of what valgrind runs, on processors with AVX-512 */
    *libc.a:mem*-evex*.o(.text.*)
    *libc.a:mem*-avx512*.o(.text.*)
    *libc.a:str*-evex*.o(.text.*)
"""
FOOT = """\
  }
}
INSERT BEFORE .text;
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="folder of a build that was linked without such a script")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="muster-start-order-") as scratch:
        program, map_file = link_with_map(options.build, pathlib.Path(scratch))
        places = places_of_functions(program, read_map(map_file))
        groups = run_groups(program, pathlib.Path(scratch))
    written = set()
    lines = []
    for title, functions in groups:
        found = {place for name in functions for place in places.get(name, [])} - written
        written |= found
        lines += [f"    /* {title} */", *(f"    {place}" for place in sorted(found))]
    options.output.write_text(HEAD + "\n".join(lines) + "\n" + FOOT)


def link_with_map(build, scratch):
    """The program with its symbols, and the linker's map of it."""
    commands = subprocess.run(
        ["ninja", "-C", build, "-t", "commands", "muster"], capture_output=True, text=True, check=True
    ).stdout
    (command,) = re.findall(r"(\S*\+\+ [^\n&]* -o muster [^\n&]*)", commands)
    program, map_file = scratch / "muster", scratch / "map"
    command = command.replace(" -o muster ", f" -o {program} ") + f" -Wl,-Map={map_file}"
    subprocess.run(command, shell=True, cwd=build, check=True)
    return program, map_file


def read_map(map_file):
    """[(first address, end, what a linker script calls it)...], sorted."""
    text = map_file.read_text().partition("Linker script and memory map")[2]
    sections = []
    for name, address, size, file in re.findall(
        r"^ (\.text\S*)\s+(0x[0-9a-f]+)\s+(0x[0-9a-f]+) (\S+)$", text, re.MULTILINE
    ):
        place = place_of(name, file)
        if place and int(size, 16) > 0:
            sections.append((int(address, 16), int(address, 16) + int(size, 16), place))
    return sorted(sections)


def place_of(section, file):
    """None: the linker knows by itself where it goes."""
    if section.startswith((".text.startup", ".text.unlikely", ".text.exit")):
        return None
    if "_Z" in section:
        return f"*({section})"
    member = re.fullmatch(r".*?([^/]+\.a)\(([^)]+)\)", file)
    return f"*{member[1]}:{member[2]}({section})" if member else None


def places_of_functions(program, sections):
    """{symbol: places of all functions of that name}."""
    symbols = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    starts = [section[0] for section in sections]
    places = {}
    for address, kind, name in re.findall(r"^([0-9a-f]+) (\w) (\S+)$", symbols, re.MULTILINE):
        at = bisect.bisect_right(starts, int(address, 16)) - 1
        if kind in "tTwWi" and at >= 0 and int(address, 16) < sections[at][1]:
            places.setdefault(name, set()).add(sections[at][2])
    return places


def run_groups(program, scratch):
    """[(title, names of functions)...]: what every process runs comes first, so that it is together."""
    asked = functions_of_runs(program, QUESTION, scratch)[0]
    guard, agent = functions_of_runs(program, JOB, scratch)
    return [
        ("what every command runs", asked),
        ("what a job runs before it is started", guard),
        ("what its agent runs", agent),
    ]


def functions_of_runs(program, arguments, scratch):
    """A set for each process, in the order in which they were started."""
    for old in scratch.glob("callgrind.*"):
        old.unlink()
    subprocess.run(
        ["valgrind", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={scratch}/callgrind.%p"]
        + [str(program), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=True,
    )
    profiles = sorted(scratch.glob("callgrind.*"), key=lambda path: int(path.suffix[1:]))
    return [
        {name.partition("'")[0] for name in re.findall(r"^c?fn=\(\d+\) (\S+)", profile.read_text(), re.M)}
        for profile in profiles
    ]


if __name__ == "__main__":
    main()
