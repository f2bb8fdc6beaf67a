"""Ten thousand compressed lists, expanded by muster and by Slurm itself."""

import random
import subprocess

LISTS = 10_000
# scontrol takes one argument, which the kernel limits to 128 KiB. So many lists go into one call,
# with a name behind each that no list has.
BATCH = 500
MARK = "end-of-list"
LETTERS = "abxz"


def number(chance):
    most = chance.choice([12, 120, 10_020])
    return str(chance.randrange(max(0, most - 120), most))


def text_range(chance):
    """"7", "007", "9-12", "09-11", "8-0010"."""
    zeros = "0" * chance.choice([0, 0, 0, 1, 2])
    first = number(chance)
    if chance.random() < 0.4:
        return zeros + first
    last = str(int(first) + chance.randrange(5))
    return f"{zeros}{first}-{'0' * chance.choice([0, 0, 0, 1])}{last}"


def bracket(chance):
    return "[" + ",".join(text_range(chance) for _ in range(chance.choice([1, 1, 2, 3]))) + "]"


def word(chance, least=1):
    text = "".join(chance.choice(LETTERS + "0123-.") for _ in range(chance.randrange(least, 4)))
    return "n" + text if text[:1] in ("-", ".") else text


def name(chance):
    """One name, or one with up to three brackets; Slurm 22.05 takes no text behind the last one."""
    brackets = chance.choice([0, 1, 1, 1, 1, 2, 2, 3])
    begin = word(chance, least=0 if brackets else 1)
    rest = "".join(word(chance, least=0) + bracket(chance) for _ in range(max(0, brackets - 1)))
    return begin + (bracket(chance) if brackets else "") + rest


def node_list(chance):
    separators = [",", ",", ",", " ", ",,"]
    text = name(chance)
    for _ in range(chance.choice([0, 0, 1, 1, 2, 4])):
        text += chance.choice(separators) + name(chance)
    return text


def by_slurm(slurm, lists):
    expanded = []
    for begin in range(0, len(lists), BATCH):
        batch = ",".join(f"{text},{MARK}" for text in lists[begin : begin + BATCH])
        shown = slurm.run("scontrol", "show", "hostnames", batch)
        assert shown.returncode == 0 and not shown.stderr, shown.stderr
        names = []
        for line in shown.stdout.splitlines():
            if line == MARK:
                expanded.append(" ".join(names))
                names = []
            else:
                names.append(line)
    return expanded


def test_ten_thousand_lists_expand_as_slurm_expands_them(slurm, expander):
    chance = random.Random(20_260)
    lists = [node_list(chance) for _ in range(LISTS)]

    theirs = by_slurm(slurm, lists)
    ours = subprocess.run(
        [expander],
        input="".join(text + "\n" for text in lists),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout.splitlines()

    assert len(theirs) == len(ours) == LISTS
    differences = [row for row in zip(lists, theirs, ours) if row[1] != row[2]]
    assert not differences, differences[:10]
    assert len(set(theirs)) > LISTS // 2, "the lists are not much alike"
