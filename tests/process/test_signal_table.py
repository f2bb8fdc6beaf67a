"""The table of docs/processes.md: who of a worker gets which signal. What the gate has no programs for is in other rings."""

from support.signal_table import Table

NAMES = "TERM HUP INT USR1 USR2"
# Two of one signal that are pending at once are one (signal(7)): bash passes INT on when train (its n: the whole word stands for
# a command) has noted the one of muster.
NOTES = """got() { read -r phase <FOLDER/../phase; echo "bash got $1 $phase" >>FOLDER/notes
[ $1 != INT ] || until mapfile -t lines <FOLDER/notes; [[ ${lines[*]} == *"n got INT"* ]]; do :; done; }"""
PASSING_ON = f'for one in {NAMES}; do trap "got $one; kill -$one \\$!" $one; done'
GOES_ON = {  # at signals that inform
    "`train`": "train",
    "`sh -c 'exec train'`": "sh -c 'exec train'",
    "`sh -c 'train; true'`": "sh -c 'train; true'",
    "`sh -c \"sh -c 'train; true'; true\"`": "sh -c \"sh -c 'train; true'; true\"",
    "`sh -c 'train & other & wait'`": "sh -c 'train & other & wait'",
    "`sh -c 'train | tee log'`": "sh -c 'train | tee log'",
    "`bash` with a `trap` that passes them on to `train &`": f"bash -c '{NOTES}\n{PASSING_ON}\n"
    "train & while kill -0 $!; do wait; done'",
    "`tini -- train`": "tini -s -- train",
    "`dumb-init train`": "dumb-init train",
    "`dumb-init --single-child train`": "dumb-init --single-child train",
    "a runner that signals its process group": "signals-its-group train",
}
ENDS = {
    "`timeout --foreground 1000 train`": "timeout --foreground 1000 train",
    "a runner that waits and passes nothing on (`conda run`)": "waits train",
    "a runner that waits and passes TERM on": "passes-term-on train",
}


def test_the_page_says_who_of_a_worker_gets_which_signal(muster, tmp_path):
    table = Table(muster, tmp_path, GOES_ON | ENDS)
    table.look_at_all(GOES_ON, ENDS)
    table.compare()
