# shellcheck shell=bash
# Virtual environments for what comes from PyPI, one each, made once and kept. Sourced, never run.
# shellcheck disable=SC2154  # `root` comes from common.bash, which every script sources first

# The Python of Debian 12: the one whose wheels the requirements pin, and the same on every machine. A file of requirements with a line
# "# with Python X.Y" is for another one, which is used where the machine has it.
readonly venv_python=/usr/bin/python3

# Parts of Horovod that are compiled, whatever is installed here. CMake 4 needs to know that Horovod's files are old.
readonly horovod_build=(HOROVOD_WITH_MPI=1 HOROVOD_WITH_PYTORCH=1 HOROVOD_WITHOUT_GLOO=1 HOROVOD_WITHOUT_TENSORFLOW=1
  HOROVOD_WITHOUT_MXNET=1 CMAKE_POLICY_VERSION_MINIMUM=3.5)

# python_for NAME: prints the Python that requirements/NAME.txt is for. Fails if this machine does not have it.
python_for() {
  local version candidate
  version=$(sed -n 's/^# with Python \([0-9.]*\)$/\1/p' "$root/requirements/$1.txt")
  if [[ -z $version ]]; then
    echo "$venv_python"
    return
  fi
  for candidate in "$(type -P "python$version")" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$version".*/bin/python3; do
    if [[ $("$candidate" --version 2>/dev/null) == "Python $version."* ]]; then # a shim of pyenv may answer for no Python
      echo "$candidate"
      return
    fi
  done
  return 1
}

# venv_of NAME: prints the folder of the environment that requirements/NAME.txt describes, after
# making it if it does not exist. What it says goes to standard error.
venv_of() {
  local requirements=$root/requirements/$1.txt home hash venv python
  [[ -r $requirements ]] || die "there is no $requirements"
  python=$(python_for "$1") || die "$requirements: this machine does not have its Python"
  home=$(cache_folder)/venvs
  hash=$({ cat "$requirements"; "$python" --version; } | sha256sum | cut -c 1-16)
  venv=$home/$1-$hash
  (
    mkdir -p "$home"
    exec 9>"$home/.lock-$1" # two runs do not make the same environment at once
    flock 9
    if [[ ! -e $venv/.complete ]]; then
      make_venv "$venv" "$requirements" "$python"
    fi
  ) >&2 || return
  echo "$venv"
}

make_venv() {
  local venv=$1 requirements=$2 python=$3
  "$root/scripts/install-packages" venv
  say "making $venv"
  rm -rf "$venv"
  local -a options=()
  if grep -qx "# beside Debian's packages" "$requirements"; then
    "$root/scripts/install-packages" gate test horovod
    options=(--system-site-packages)
  fi
  "$python" -m venv "${options[@]}" "$venv" || return
  # One requirement after the other, in the order of the file: a framework that is pinned first
  # decides for those that would ask for another build of it.
  local -a requirement
  while read -r -a requirement; do # options of pip may stand before a name
    say "installing ${requirement[*]}"
    try_again run_quietly env "${horovod_build[@]}" "$venv/bin/python" -m pip install --disable-pip-version-check --no-input \
      "${requirement[@]}" </dev/null || return
  done < <(sed -E 's/#.*//; s/[[:space:]]+$//; /^$/d' "$requirements")
  touch "$venv/.complete" # only now: an environment that was interrupted is made again
}
