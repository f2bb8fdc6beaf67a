# shellcheck shell=bash
# Functions that all scripts share: the path of the repository, messages, and --help.
# Sourced, never run. A script's --help is its own opening comment, so the two cannot differ.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
script=$(basename "$0")
# shellcheck disable=SC2034  # read by the scripts that source this file
readonly root script

# One line of progress.
say() { printf '== %s: %s\n' "$script" "$*"; }

# One sentence on standard error, and the end. 64 is for a wrong command line, as in muster.
die() { printf '%s: %s\n' "$script" "$*" >&2; exit 1; }
usage_error() { printf '%s: %s; see %s --help\n' "$script" "$*" "$0" >&2; exit 64; }

# Prints the opening comment of the running script, without the comment signs.
print_help() {
  awk 'NR == 1 { next } !/^#/ { exit } { sub(/^# ?/, ""); print }' "$0"
}

# The cores that may be used: not all of the machine's in a container.
cores() { nproc; }

# The commit that is checked out, or nothing where git knows none: in an exported tree, also when that lies inside
# another repository. What was changed since is no part of it.
commit() {
  [[ $(git -C "$root" rev-parse --show-toplevel 2>/dev/null) == "$root" ]] || return 0
  git -C "$root" describe --always --exclude '*' --abbrev=40 --dirty=' with changes' 2>/dev/null || true
}

# The folder of everything that is kept between runs.
cache_folder() {
  local cache=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}
  [[ -n $cache ]] || die "neither HOME nor XDG_CACHE_HOME says where to keep what is made once"
  echo "$cache/muster"
}

# The compiler cache, as an argument for cmake. What is compiled in one clone is found by another at
# another path: paths below the root count as relative ones, and precompiled headers by their content.
ccache_for_cmake() {
  printf '%s' -DCMAKE_CXX_COMPILER_LAUNCHER= 'env;' "CCACHE_BASEDIR=$root;" 'CCACHE_NOHASHDIR=1;' \
    'CCACHE_SLOPPINESS=pch_defines,time_macros;' ccache
}

# A file that was stored as a command's output is shown only when the command failed.
run_quietly() {
  local log status=0
  log=$(mktemp)
  "$@" >"$log" 2>&1 || status=$?
  if ((status != 0)); then
    cat "$log" >&2
  fi
  rm -f "$log"
  return "$status"
}

# try_again COMMAND...: up to three times, with pauses, for what fetches over the network.
try_again() {
  local pause
  for pause in 5 20; do
    "$@" && return
    say "'$1' failed; trying again in $pause s"
    sleep "$pause"
  done
  "$@"
}

# The C++ of the repository, one path a line, from its root. Files that git does not know yet count.
cpp_files() {
  git -C "$root" ls-files --cached --others --exclude-standard '*.cpp' '*.hpp' '*.c' '*.h' |
    while read -r file; do
      [[ -e $root/$file ]] && echo "$file"
    done
}
