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


def library_folders():
    """The folders of the standard library and of installed packages, each with a slash at its end."""
    installed = [path for path in sys.path if os.path.basename(path) in ("site-packages", "dist-packages")]
    return tuple(os.path.join(path, "") for path in [os.path.dirname(os.__file__)] + installed)


def is_library(origin, folders):
    return origin in ("frozen", "built-in") or (origin or "").startswith(folders)


def is_harmless(node):
    """True for a statement of a module that imports, defines or names something, and so changes nothing for later imports."""
    kind = type(node).__name__
    if kind in ("Import", "ImportFrom", "FunctionDef", "AsyncFunctionDef", "ClassDef", "Pass"):
        return True
    if kind == "Try":
        handled = [one for handler in node.handlers for one in handler.body]
        return all(is_harmless(one) for one in node.body + handled + node.orelse + node.finalbody)
    names_only = all(type(one).__name__ == "Name" for one in getattr(node, "targets", ()))
    return kind in ("Expr", "Assign") and names_only and type(node.value).__name__ == "Constant"


def end_of_imports(path):
    """The line of the first statement of a program's file that does more; None: there is none."""
    had_syntax = "_ast" in sys.modules
    try:
        with open(path, "rb") as file:
            tree = compile(file.read(), path, "exec", ONLY_SYNTAX, True)
    finally:
        if not had_syntax:
            sys.modules.pop("_ast", None)
    return next((node.lineno for node in tree.body if not is_harmless(node)), None)


class Notes(object):
    """The notes of a worker: its pid, and then a line when its own code begins to import a module, "NAME", and when that has ended:
    "+NAME" of a library, "*NAME" of the program's own module, "-NAME" if it failed. What libraries import comes with them. "=SIZE TIME PATH" is a
    file that all this depends on. The last line is "!REASON": what came before may matter to later imports.

    Stands first in sys.meta_path, where the interpreter asks for each module that is not imported yet, and finds none."""

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
        self.ends = {}  # by the file of the program's own module
        self.write(str(self.process))
        for folder in filter(os.path.isdir, self.folders):
            self.write_state(folder)

    def write(self, line):
        data = os.fsencode(line + "\n")
        # The program may have closed the descriptor, and its number may be another file by now.
        if self.used + len(data) > self.size or os.fstat(self.descriptor)[1:3] != self.file:
            self.is_over = True
        if not self.is_over:
            self.used += os.pwrite(self.descriptor, data, self.used)

    def write_state(self, path):
        state = os.stat(path)
        self.write("=%d %d %s" % (state.st_size, state.st_mtime_ns, os.path.abspath(path).replace("\n", "?")))

    def take_own(self, path):
        """The line of the first statement of the program's own file that does more than import; None: there is none."""
        if path not in self.ends:
            self.write_state(path)
            self.ends[path] = end_of_imports(path)
        return self.ends[path]

    def find_spec(self, name, path=None, target=None):
        if self.is_over or os.getpid() != self.process:
            return
        try:
            lock = self.locks[name]() if name in self.locks else None
            if lock is not None:  # else the program only looks whether there is such a module
                is_wanted = self.is_programs(sys._getframe())
                reason = self.reason_to_end() if is_wanted else None
                if is_wanted and reason is None:
                    self.write(name)
                self.loading[name] = self.ref(lock, lambda _: self.on_end(name, is_wanted, reason))
        except Exception:
            self.is_over = True  # what is noted by now stays right, and the program must not see an error of ours

    def is_programs(self, frame):
        """False within the import of a library, which a standby repeats as a whole."""
        while frame is not None:
            path = frame.f_code.co_filename
            if not path.startswith("<frozen ") and path != __file__:
                if not is_library(path, self.folders):
                    return True
                if frame.f_code.co_name == "<module>":
                    return False
            frame = frame.f_back
        return False  # the interpreter looks for the program

    def on_end(self, name, is_wanted, reason):
        self.loading.pop(name, None)
        if self.is_over or os.getpid() != self.process:
            return
        try:
            origin = getattr(getattr(sys.modules.get(name), "__spec__", None), "origin", None)
            if origin is not None and not is_library(origin, self.folders):
                self.write("*" + name)
                self.take_own(origin)
            elif is_wanted and reason is None:
                self.write(("-" if origin is None else "+") + name)
            elif is_wanted:
                self.write("!" + reason)
                self.is_over = True
        except Exception:
            self.is_over = True

    def reason_to_end(self):
        import _thread  # built in, and there

        if sys.path != self.path and sys.path[1:] != self.path:  # the program's own folder comes first
            return "it changes sys.path"
        if _thread._count() > 0:
            return "it starts a thread"
        frame, running = sys._getframe(), set()
        while frame is not None:
            path = frame.f_code.co_filename
            if not path.startswith("<frozen ") and not is_library(path, self.folders) and path != __file__:
                end = self.take_own(path)
                if frame.f_code.co_name != "<module>" or (end is not None and frame.f_lineno >= end):
                    return "%s runs other code in line %d" % (os.path.basename(path), end or frame.f_lineno)
                running.add(path)
            frame = frame.f_back
        done = [path for path, end in self.ends.items() if end is not None and path not in running]
        return "%s runs other code in line %d" % (os.path.basename(done[0]), self.ends[done[0]]) if done else None


class Pace(object):
    """Sleeps between imports three times as long as they took the CPU, where muster cannot lower this process's priority. Stands in
    sys.meta_path, and finds no module."""

    def __init__(self):
        import time  # built in, and there

        self.time = time
        self.used = time.process_time()

    def find_spec(self, name, path=None, target=None):
        used = self.time.process_time()
        self.time.sleep(min(max(3 * (used - self.used), 0), 1))
        self.used = used


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


def import_modules(names, only_libraries):
    import _thread  # built in, and there

    folders = library_folders()
    for name in names:
        top = name.split(".")[0]
        if only_libraries and top not in sys.modules and not is_library(find_origin(top), folders):
            continue
        try:
            __import__(name)
        except Exception as error:
            raise NoStandby("importing %s failed: %s" % (name, type(error).__name__))
        if _thread._count() > 0:
            raise NoStandby("importing %s starts a thread" % name)


def own_names():
    """The modules that stand beside the program, which it would find first."""
    program = sys.argv[0]
    folder = os.getcwd() if program == "-m" else os.path.dirname(os.path.realpath(program))
    names = set()
    for entry in os.listdir(folder):
        if entry.endswith(".py"):
            names.add(entry[:-3])
        elif os.path.exists(os.path.join(folder, entry, "__init__.py")):
            names.add(entry)
    return names


def check_what_imports_did(before):
    path, folder, arguments, finders = before
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


def get_ready(descriptor):
    """Imports what muster names. Raises NoStandby."""
    flags, own, names = os.fsdecode(read_message(descriptor) or b"").split("\n", 2)
    there = set(sys.modules)
    pace = Pace()
    before = list(sys.path), os.getcwd(), list(sys.argv), list(sys.meta_path)
    if "paced" in flags:
        sys.meta_path.insert(0, pace)
    import_modules(names.split("\n"), "libraries" in flags)
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not pace]
    check_what_imports_did(before)
    beside = own_names()
    shadowed = [name for name in set(sys.modules) - there if name in own.split() or name in beside]
    if shadowed:
        raise NoStandby("the program has a module %s of its own" % shadowed[0])


def wait_for_order(descriptor):
    """Returns the variables that differ. No handler of a signal that an import has set may run: it could raise."""
    import _signal  # built in, and there

    handled = {number for number in _signal.valid_signals() if callable(_signal.getsignal(number))}
    before = _signal.pthread_sigmask(_signal.SIG_BLOCK, handled)
    order = read_message(descriptor)
    if order is None:
        os._exit(0)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, before)
    return order


def stand_by(descriptor):
    """Becomes the program by returning, and must not do so before muster's order: the program would run twice. Ends the process on
    any other way."""
    process = os.getpid()
    try:
        try:
            get_ready(descriptor)
            os.write(descriptor, b"ready\n")
        except NoStandby as reason:
            os.write(descriptor, b"no " + os.fsencode(str(reason)).replace(b"\n", b" ") + b"\n")
            os._exit(0)
        for field in filter(None, wait_for_order(descriptor).split(b"\0")):
            name, is_set, value = field.partition(b"=")
            if is_set:
                os.environb[name] = value
            else:
                os.environb.pop(name, None)
        os.close(descriptor)
        if os.getpid() != process:
            os._exit(0)  # a child that an import has forked
    except BaseException:
        os._exit(1)


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
        stand_by(descriptor)
    elif is_ours:
        notes = Notes(descriptor)
        if what == "learn":
            sys.meta_path.insert(0, notes)
    return error


if "_MUSTER_STANDBY" in os.environ:
    is_standby = os.environ["_MUSTER_STANDBY"].startswith("stand_by")
    try:
        problem = run()
    except BaseException:
        if is_standby:
            os._exit(1)
        raise
    if problem is not None:
        raise problem
