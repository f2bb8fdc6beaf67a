"""CHANGELOG.md by versions, and as the changelog of a Debian package: the two name the same releases and changes."""

import calendar
import dataclasses
import re
import sys
import textwrap
import time


@dataclasses.dataclass
class Section:
    version: str
    date: str  # such as 2026-12-24, or empty while the version is not released
    lines: list = dataclasses.field(default_factory=list)  # ("heading" or "text" or "change", words)


def read(text):
    """The sections, newest first. Each opens with `## [VERSION] - DATE`, or `## [Unreleased]: VERSION`."""
    sections = []
    for line in text.splitlines():
        opening = re.fullmatch(r"## (?:\[Unreleased\]: (\S+)|\[(\S+)\] - (\d{4}-\d\d-\d\d))", line)
        if opening:
            sections.append(Section(opening[1] or opening[2], opening[3] or ""))
        elif line.startswith("## "):
            sys.exit(f"CHANGELOG.md has '{line}', expected '## [VERSION] - YYYY-MM-DD' or '## [Unreleased]: VERSION'")
        elif sections and line:
            add(sections[-1].lines, line)
    return sections


def add(lines, line):
    if line.startswith("  "):
        kind, words = lines.pop()
        lines.append((kind, f"{words} {line.strip()}"))
        return
    for kind, mark in (("heading", "### "), ("change", "- "), ("text", "")):
        if line.startswith(mark):
            lines.append((kind, line.removeprefix(mark)))
            return


def debian(sections, package, maintainer, now):
    """As dpkg reads it. `now`, in seconds since 1970, dates a version that is not released yet."""
    entries = []
    for section in sections:
        released = calendar.timegm(time.strptime(section.date, "%Y-%m-%d")) if section.date else now
        entries.append(
            f"{package} ({section.version}) {'unstable' if section.date else 'UNRELEASED'}; urgency=medium\n\n"
            + "\n".join(form_of(kind, re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", words)) for kind, words in section.lines)
            + f"\n\n -- {maintainer}  {time.strftime('%a, %d %b %Y %H:%M:%S +0000', time.gmtime(released))}\n"
        )
    return "\n".join(entries)


def form_of(kind, words):
    if kind == "heading":
        return f"  [ {words} ]"
    first, others = ("  * ", "    ") if kind == "change" else ("  ", "  ")
    return textwrap.fill(words, 78, initial_indent=first, subsequent_indent=others, break_long_words=False, break_on_hyphens=False)
