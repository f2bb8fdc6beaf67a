"""Notes what a worker imports, or imports it before the worker is needed (docs/standby.md).

muster puts the folder of this file first in PYTHONPATH, so that the interpreter imports it before the program. The program
then starts as it does without this file: the interpreter itself runs it, no frame of this file is on its stack, and the
variables, the search path and the modules are what they would be. Imports only what every interpreter has imported by then.
Python 2 can read it: an interpreter before 3.8 notes nothing and is no standby.
"""

import os
import sys

# Device files that a process opens to use an accelerator.
DEVICES = ("/dev/nvidia", "/dev/davinci", "/dev/hisi_hdc", "/dev/kfd", "/dev/dri", "/dev/accel")
ONLY_SYNTAX = 0x400  # a flag of compile(): PyCF_ONLY_AST
LARGE_PRIME = 2**61 - 1
KIND_OF_FILE, REGULAR_FILE = 0xF000, 0x8000  # of st_mode
MOST_SOURCE = 1 << 20  # bytes of a program's file that are parsed: what is longer does not end as Python does, or does more than import


def library_folders():
    """The folders of the standard library and of installed packages, each with a slash at its end."""
    installed = [path for path in sys.path if os.path.basename(path) in ("site-packages", "dist-packages")]
    return tuple(os.path.join(path, "") for path in [os.path.dirname(os.__file__)] + installed)


def real_library_folders():
    return tuple(os.path.join(os.path.realpath(path), "") for path in library_folders())


def is_library(origin, folders):
    return origin in ("frozen", "built-in") or (origin or "").startswith(folders)


def own_file(path, folders):
    """The file or folder of this path, or the zip file that it is a part of, if it is in none of these real folders of libraries. None: it
    is, or there is no such file, as torch makes a module of a string. A symbolic link may lead from a library's folder to a user's."""
    if path in ("frozen", "built-in") or os.path.realpath(path).startswith(folders):
        return None
    while path and not os.path.exists(path):
        path = os.path.dirname(path)
    return os.path.abspath(path) if path else None


def state_of(path):
    """Two numbers that change when a file is written, or when a folder gets other entries; src/agent/import_files.cpp has the same."""
    state = os.stat(path)
    if state.st_mode & KIND_OF_FILE == REGULAR_FILE:
        return state.st_size, state.st_mtime_ns
    names = sorted(name for name in os.listdir(os.fsencode(path)) if name != b"__pycache__")
    return len(names), int.from_bytes(b"/".join(names), "big") % LARGE_PRIME


def origin_of(module):
    try:
        return getattr(getattr(module, "__spec__", None), "origin", None)
    except Exception:
        return None  # a module that is an object of its own kind


def files_of(name):
    """The paths of what a module was made of, and of the folders where its parts are looked for."""
    try:
        module = vars(sys.modules[name])
        paths = [origin_of(sys.modules[name]) or module.get("__file__")] + list(module.get("__path__") or ())
    except Exception:
        paths = []  # a module that is an object of its own kind
    if not any(paths) and "." not in name:
        paths = [find_origin(name)]
    return [path for path in paths if isinstance(path, str)]


def is_plain(node):
    """True for an expression that calls nothing: a name, a constant, or Optional[int]."""
    kind = type(node).__name__
    if kind in ("Attribute", "Index"):
        return is_plain(node.value)
    if kind in ("Tuple", "List"):
        return all(is_plain(one) for one in node.elts)
    if kind == "Subscript":
        return is_plain(node.value) and is_plain(node.slice)
    return node is None or kind in ("Name", "Constant")


def is_harmless(node):
    """True for a statement of a module that imports or names something, or defines a function, and so changes nothing for later imports."""
    kind = type(node).__name__
    if kind in ("Import", "ImportFrom", "Pass"):
        return True
    if kind in ("FunctionDef", "AsyncFunctionDef"):
        given = node.args
        named = getattr(given, "posonlyargs", []) + given.args + given.kwonlyargs + [one for one in (given.vararg, given.kwarg) if one]
        evaluated = given.defaults + given.kw_defaults + [node.returns] + [one.annotation for one in named]
        return not node.decorator_list and all(is_plain(one) for one in evaluated)
    if kind == "Try":
        handled = [one for handler in node.handlers for one in handler.body]
        return all(is_harmless(one) for one in node.body + handled + node.orelse + node.finalbody)
    names_only = all(type(one).__name__ == "Name" for one in getattr(node, "targets", ()))
    return kind in ("Expr", "Assign") and names_only and type(node.value).__name__ == "Constant"


def end_of_imports(path):
    """The line of the first statement of a program's file that does more; None: there is none. Reads the file in a standby, since the
    parser takes time and memory, and may warn: that goes nowhere."""
    had_syntax = "_ast" in sys.modules
    errors = os.dup(2)
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 2)
        if os.stat(path).st_mode & KIND_OF_FILE != REGULAR_FILE:
            return 1
        with open(path, "rb") as file:
            tree = compile(file.read(MOST_SOURCE), path, "exec", ONLY_SYNTAX, True)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return 1
    finally:
        os.dup2(errors, 2)
        os.close(errors)
        os.close(null)
        if not had_syntax:
            sys.modules.pop("_ast", None)
    return next((node.lineno for node in tree.body if not is_harmless(node)), None)


class Notes(object):
    """The notes of a worker: its pid, and then a line when its own code begins to import a module, "NAME PLACES", and when that has ended:
    "+NAME" of a library, "*NAME FILE" of the program's own module, "-NAME" if it failed. What libraries import comes with them. PLACES are those of the
    program's code that led to the import, "FILE:LINE", and FILE the number of a line "=SIZE TIME PATH": something that all this depends on. The last line
    is "!REASON": later imports are not noted.

    Stands first in sys.meta_path, where the interpreter asks for each module that is not imported yet, and finds none. What it does is short, and
    catches nothing but its own errors: a handler of a signal may raise an exception in it, which is the program's."""

    def __init__(self, descriptor):
        import _frozen_importlib, _weakref  # built in, and there

        self.ref = _weakref.ref
        self.locks = _frozen_importlib._module_locks  # weak references to the lock of each module that is being imported
        self.descriptor = descriptor
        self.folders = library_folders()
        self.path = list(sys.path)
        self.process = os.getpid()
        self.file = os.fstat(descriptor)[1:3]
        self.size = os.fstat(descriptor).st_size
        self.used = 0
        self.is_over = False
        self.loading = {}  # by module: a weak reference to its lock, which goes when the import ends
        self.files = {}  # numbers by path
        self.write(str(self.process))
        for folder in filter(os.path.isdir, self.folders):
            self.number_of(folder)

    def write(self, line):
        data = os.fsencode(line + "\n")
        try:
            # The program may have closed the descriptor, and its number may be another file by now.
            if self.used + len(data) > self.size or os.fstat(self.descriptor)[1:3] != self.file:
                self.is_over = True
            if not self.is_over:
                self.used += os.pwrite(self.descriptor, data, self.used)
        except OSError:
            self.is_over = True

    def end(self, reason):
        self.write("!" + reason)
        self.is_over = True

    def number_of(self, path):
        if path not in self.files:
            try:
                size, time = state_of(path)
                self.write("=%d %d %s" % (size, time, os.path.abspath(path).replace("\n", "?")))
            except OSError:
                self.end("it runs code that is in no file")
            self.files[path] = len(self.files)
        return self.files[path]

    def places(self, frame):
        """Where the program's own code stands, the innermost first, with line 0 within a function. Empty: a library imports."""
        places = []
        while frame is not None:
            path = frame.f_code.co_filename
            is_module = frame.f_code.co_name == "<module>"
            if not path.startswith("<frozen ") and path != __file__:
                if not is_library(path, self.folders):
                    places.append("%d:%d" % (self.number_of(path), frame.f_lineno if is_module else 0))
                elif is_module and not places:
                    break
            frame = frame.f_back
        return places

    def find_spec(self, name, path=None, target=None):
        if self.is_over or os.getpid() != self.process:
            return
        import _thread  # built in, and there

        lock = self.locks.get(name, int)()  # none: the program only looks whether there is such a module
        places = self.places(sys._getframe()) if lock else []
        if not places:
            return
        if sys.path != self.path and sys.path[1:] != self.path:  # the program's own folder comes first
            self.end("it changes sys.path")
        elif _thread._count() > 0:
            self.end("it starts a thread")
        else:
            self.write(" ".join([name] + places))
            self.loading[name] = self.ref(lock, lambda _: self.on_end(name))

    def on_end(self, name):
        self.loading.pop(name, None)
        if self.is_over or os.getpid() != self.process:
            return
        origin = origin_of(sys.modules.get(name))
        if origin is None:
            self.write("-" + name)
        elif is_library(origin, self.folders):
            self.write("+" + name)
        else:
            self.write("*%s %d" % (name, self.number_of(origin)))


class Pace(object):
    """Sleeps between imports: nineteen times as long as they took the CPU once this process had to wait for one, since a job that uses
    all CPUs is slowed also by a process of the lowest priority; and three times where muster cannot lower the priority. Notes which
    top-level modules the imports look for, also in vain. Stands in sys.meta_path, and finds no module."""

    MOST_SECONDS = 10  # at once, so that muster sees it work

    def __init__(self, is_lowered):
        import time  # built in, and there

        self.time = time
        self.factor = 0 if is_lowered else 3
        self.names = set()
        self.used, self.waited = self.look()

    def look(self):
        """Seconds for which this process has used a CPU, and has waited for one; for the latter infinity where the kernel does not tell."""
        try:
            waited = int(read_text("/proc/self/schedstat").split()[1]) / 1e9
        except (OSError, IndexError, ValueError):
            waited = float("inf")
        return self.time.process_time(), waited

    def find_spec(self, name, path=None, target=None):
        if "." not in name:
            self.names.add(name)
        used, waited = self.look()
        took = used - self.used
        if not waited - self.waited < max(took / 4, 0.001):  # nor where the kernel does not tell
            self.factor = 19
        if self.factor * took > 0:
            self.time.sleep(min(self.factor * took, self.MOST_SECONDS))
        self.used, self.waited = self.look()


class NoStandby(Exception):
    """Says why this process cannot be one."""


def read_message(descriptor):
    """A message of muster: its number of bytes, a line end, and the bytes. None: muster has closed the stream."""
    size = b""
    while not size.endswith(b"\n"):
        byte = os.read(descriptor, 1)
        if not byte:
            return None
        size += byte
    data = b""
    while len(data) < int(size):
        piece = os.read(descriptor, int(size) - len(data))
        if not piece:
            return None
        data += piece
    return data


def find_origin(name):
    """The file of a top-level module that is not imported yet; None: it has none, or there is no such module."""
    for finder in list(sys.meta_path):
        find = getattr(finder, "find_spec", None)
        spec = find(name, None) if find else None
        if spec is not None:
            return spec.origin
    return None


def find_change(files):
    """The name of a file or folder that is no longer as it was noted; None: all are."""
    for size, time, path in files:
        try:
            if state_of(path) != (int(size), int(time)):
                return path
        except OSError:
            return path
    return None


def names_to_import(steps, files):
    """The names of the modules that the program imports before its own code does anything else. Raises NoStandby if there is none."""
    ends = {}
    names = []
    for step in steps:
        name, places = step.split(" ")[0], step.split(" ")[1:]
        for place in places:
            number, _, line = place.partition(":")
            path = files[int(number)][2]
            if path not in ends:
                ends[path] = end_of_imports(path)
            is_done = name.startswith("*") and ends[path] is not None  # a module of the program that has run whole
            if is_done or line == "0" or (line and ends[path] is not None and int(line) >= ends[path]):
                if names:
                    return names
                where = "in line %d" % ends[path] if ends[path] else "in a function"
                raise NoStandby("it imports nothing that can be imported ahead: before its first import %s runs other code %s" % (os.path.basename(path), where))
        if not name.startswith("*"):
            names.append(name)
    return names


def import_modules(names, only_libraries):
    import _thread  # built in, and there

    folders = real_library_folders()
    for name in names:
        top = name.split(".")[0]
        if only_libraries and top not in sys.modules:
            origin = find_origin(top)
            if origin is None or own_file(origin, folders):
                continue
        try:
            __import__(name)
        except Exception as error:
            raise NoStandby("importing %s failed: %s" % (name, type(error).__name__))
        if _thread._count() > 0:
            raise NoStandby("importing %s starts a thread" % name)


def own_folder():
    """The folder of the program, where it looks for modules first."""
    program = os.path.realpath(sys.argv[0])
    if sys.argv[0] == "-m":
        return os.getcwd()
    return program if os.path.isdir(program) else os.path.dirname(program)


def find_in_folder(folder, names):
    """Which of these top-level modules a folder has: True for a module or a package, False for a folder that is part of a namespace package."""
    import _imp  # built in, and there

    suffixes = [".py", ".pyc"] + _imp.extension_suffixes()
    entries = set(os.listdir(folder))
    found = {}
    for name in names:
        path = os.path.join(folder, name)
        if any(name + suffix in entries for suffix in suffixes):
            found[name] = True
        elif name in entries and os.path.isdir(path):
            found[name] = any(os.path.exists(os.path.join(path, "__init__" + suffix)) for suffix in suffixes)
    return found


def find_in_path(names):
    """What find_in_folder finds, by folder of sys.path. Leaves out those of libraries: muster compares their entries."""
    folders = library_folders()
    found = {}
    for folder in sys.path:
        try:
            if os.path.join(folder, "") not in folders:
                found[folder] = find_in_folder(folder, names)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            found[folder] = {}  # as for an import
    return found


def check_own_names(names):
    """The program finds what is in its own folder first, and a standby has not looked there. Another package hides a folder that is
    part of a namespace package."""
    for name, is_module in find_in_folder(own_folder(), names).items():
        module = sys.modules.get(name)
        if is_module or (find_origin(name) if module is None else origin_of(module)) is None:
            raise NoStandby("the program has a module %s of its own" % name)


def read_text(path):
    with open(path) as file:
        return file.read()


def open_descriptors():
    """Without that of the listing itself, which is closed by then."""
    return {int(name) for name in os.listdir("/proc/self/fd") if os.path.lexists("/proc/self/fd/" + name)}


def process_state():
    """What a program that is started by exec keeps."""
    mask = [line for line in read_text("/proc/self/status").split("\n") if line.startswith("Umask")]
    waits = [os.get_blocking(stream) for stream in (0, 1, 2)]
    return mask, os.nice(0), read_text("/proc/self/limits"), waits


def check_what_imports_did(before):
    path, folder, arguments, finders, state = before
    if process_state() != state:
        raise NoStandby("an import changes the umask, a limit, the priority or a stream")
    if sys.path != path:
        raise NoStandby("an import changes sys.path")
    if os.getcwd() != folder:
        raise NoStandby("an import changes the working directory")
    if sys.argv != arguments:
        raise NoStandby("an import changes the arguments")
    if not all(any(one is other for other in sys.meta_path) for one in finders):
        raise NoStandby("an import takes finders away from sys.meta_path")
    if find_origin("usercustomize") is not None:
        raise NoStandby("there is a module usercustomize")
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            device = os.readlink("/proc/self/fd/" + descriptor)
        except OSError:
            continue  # the descriptor of the listing itself
        if device.startswith(DEVICES):
            raise NoStandby("an import opens " + device)
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return
    raise NoStandby("an import starts a process")


class Standby(object):
    """Becomes the program when `run` returns."""

    def __init__(self, descriptor):
        import _signal, time  # built in, and there

        self.signals = _signal
        self.began = time.time()
        self.folder = os.getcwd()
        self.running = os.readlink(b"/proc/self/exe")
        self.descriptor = descriptor
        self.variables = dict(os.environb)
        self.dispositions = {number: _signal.getsignal(number) for number in _signal.valid_signals()}
        self.blocked = _signal.pthread_sigmask(_signal.SIG_BLOCK, ())
        self.descriptors = open_descriptors()
        self.there = set(sys.modules)

    def run(self):
        """Must not return before muster's order: the program would run twice. Ends the process on any other way."""
        process = os.getpid()
        try:
            try:
                self.get_ready()
                os.write(self.descriptor, b"ready\n")
            except NoStandby as reason:
                self.say(reason)
                os._exit(0)
            self.take_order()
            if os.getpid() != process:
                os._exit(0)  # a child that an import has forked
        except BaseException:
            os._exit(1)

    def say(self, reason):
        os.write(self.descriptor, b"no " + os.fsencode(str(reason)).replace(b"\n", b" ") + b"\n")

    def get_ready(self):
        """Imports what muster names. Raises NoStandby."""
        flags, _, notes = os.fsdecode(read_message(self.descriptor) or b"").partition("\n")
        lines = notes.split("\n")
        self.only_libraries = "libraries" in flags
        self.files = [line[1:].split(" ", 2) for line in lines if line.startswith("=")]
        if sys.executable:
            self.files.append(state_of(sys.executable) + (sys.executable,))
        self.check_files()
        names = [line for line in lines if line and not line.startswith("=")]
        pace = Pace("paced" not in flags)
        sys.meta_path.insert(0, pace)
        before = list(sys.path), os.getcwd(), list(sys.argv), list(sys.meta_path), process_state()
        import_modules(names_to_import(names, self.files) if self.only_libraries else names, self.only_libraries)
        check_what_imports_did(before)
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not pace]
        self.note_own_files()
        self.names = pace.names.union(name for name in set(sys.modules) - self.there if "." not in name)
        self.found = find_in_path(self.names)
        check_own_names(self.names)

    def note_own_files(self):
        """Notes the state of each file that no package has installed. Raises NoStandby if only libraries may be imported, or if the file
        was written after the start: an import may have read it before."""
        folders = real_library_folders()
        own = {own_file(path, folders) for path in sys.path if os.path.isfile(path)}  # a zip file
        for name in list(sys.modules):
            files = {own_file(path, folders) for path in files_of(name)} - {None}
            if files and self.only_libraries and name not in self.there:
                raise NoStandby("the program has a module %s of its own" % name)
            own |= files
        for path in own - {None}:
            state = os.stat(path)
            if state.st_mode & KIND_OF_FILE == REGULAR_FILE and state.st_ctime > self.began:
                raise NoStandby("%s has changed" % path)
            self.files.append(state_of(path) + (path,))

    def check_files(self):
        changed = find_change(self.files)
        if changed is not None:
            raise NoStandby("%s has changed" % changed)

    def check_changes(self):
        try:
            is_same = os.path.samefile(self.folder, ".")
        except OSError:
            is_same = False
        if not is_same:
            raise NoStandby("its working directory was replaced")
        self.check_files()
        for folder, found in find_in_path(self.names).items():
            for name in self.names:
                if found.get(name) != self.found[folder].get(name):
                    raise NoStandby("%s has got or lost a module %s" % (folder, name))
        check_own_names(self.names)

    def take_order(self):
        """Waits for it. No handler of a signal that an import has set may run meanwhile: it could raise."""
        handled = {number for number in self.dispositions if callable(self.signals.getsignal(number))}
        blocked = self.signals.pthread_sigmask(self.signals.SIG_BLOCK, handled)
        order = read_message(self.descriptor)
        if order is None:
            os._exit(0)
        fields = order.split(b"\0")[:-1]
        executable = fields[0]
        changes = [field.partition(b"=") for field in fields[1:]]
        for variables in (self.variables, os.environb):
            for name, is_set, value in changes:
                if is_set:
                    variables[name] = value
                else:
                    variables.pop(name, None)
        try:
            self.check_changes()
        except NoStandby as reason:
            self.start_cold(executable, reason)
        except Exception as error:
            self.start_cold(executable, "looking for changes failed: %s" % (getattr(error, "strerror", None) or type(error).__name__))
        os.close(self.descriptor)
        self.signals.pthread_sigmask(self.signals.SIG_SETMASK, blocked)

    def start_cold(self, executable, reason):
        """Becomes the program as any process does: with the signals, variables and descriptors that this one had before its imports. A wrapper
        that started this Python does not run again."""
        try:
            self.say(reason)
        except OSError:
            pass  # muster does not listen any more
        for number, before in self.dispositions.items():
            by_python = number in (self.signals.SIGPIPE, self.signals.SIGXFSZ)
            if self.signals.getsignal(number) == self.signals.SIG_IGN and (by_python or before != self.signals.SIG_IGN):
                self.signals.signal(number, self.signals.SIG_DFL)
        self.signals.pthread_sigmask(self.signals.SIG_SETMASK, self.blocked)
        for opened in open_descriptors() - self.descriptors:
            os.set_inheritable(opened, False)
        try:
            os.chdir(self.folder)
        except OSError:
            pass  # it is gone, and this process stays in it as a new one would
        with open("/proc/self/cmdline", "rb") as file:
            arguments = file.read().split(b"\0")[:-1]
        is_python = os.path.realpath(executable) in (self.running, os.path.realpath(os.fsencode(sys.executable or "")))
        error = None
        for path in (executable, self.running) if is_python else (self.running, executable):
            try:
                os.execve(path, arguments, self.variables)
            except OSError as failure:
                error = error or failure
        os.write(2, b"muster: cannot start %s: %s\n" % (executable, os.fsencode(error.strerror)))
        os._exit(127)


def import_the_users():
    """Lets the interpreter find what it would have imported instead of this file. Returns the error that it would have seen."""
    folder = os.path.dirname(__file__)
    sys.path[:] = [path for path in sys.path if path != folder]
    sys.path_importer_cache.pop(folder, None)
    del sys.modules["sitecustomize"]
    try:
        __import__("sitecustomize")
    except Exception as error:
        return error
    return None


def remove_cached():
    """Where the user has a folder for what Python compiles, nothing of this file stays there."""
    cached = getattr(__spec__, "cached", None)
    if getattr(sys, "pycache_prefix", None) and cached:
        os.unlink(cached)
        os.removedirs(os.path.dirname(cached))


def run():
    """Does what the variable _MUSTER_STANDBY asks for: "learn", "answer" (note the pid alone) or "stand_by", behind it a descriptor,
    the pid of muster, and the PYTHONPATH that was set before."""
    words = os.environ.pop("_MUSTER_STANDBY").split(" ", 3)
    what, descriptor = words[0], int(words[1])
    os.environ.pop("PYTHONPATH", None)
    if len(words) > 3:
        os.environ["PYTHONPATH"] = words[3]
    is_ours = sys.version_info >= (3, 8) and os.getppid() == int(words[2])
    if what == "stand_by" and not is_ours:
        os._exit(1)
    if is_ours:
        os.set_inheritable(descriptor, False)
        remove_cached()
    error = import_the_users()
    if what == "stand_by":
        Standby(descriptor).run()
    elif is_ours:
        notes = Notes(descriptor)
        if what == "learn":
            sys.meta_path.insert(0, notes)
    return error


if "_MUSTER_STANDBY" not in os.environ:  # in another interpreter of this process
    problem = import_the_users()
    if problem is not None:
        raise problem
else:
    is_standby = os.environ["_MUSTER_STANDBY"].startswith("stand_by")
    try:
        problem = run()
    except BaseException:
        if is_standby:
            os._exit(1)
        raise
    if problem is not None:
        raise problem
