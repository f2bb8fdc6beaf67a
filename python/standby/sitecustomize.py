"""Notes what a worker imports, or imports it before the worker is needed (docs/standby.md).

muster puts the folder of this file first in PYTHONPATH, so that the interpreter imports it before the program. The program
then starts as it does without this file: the interpreter itself runs it, no frame of this file is on its stack, and the
variables, the search path and the modules are what they would be. Runs with Python 3.8 and later, and imports only what
every interpreter has imported by then.
"""

import _thread
import os
import sys
import time

# Device files that a process opens to use an accelerator.
DEVICES = ("/dev/nvidia", "/dev/davinci", "/dev/hisi_hdc", "/dev/kfd", "/dev/dri", "/dev/accel")

# Audit events that a worker's notes are made of (https://docs.python.org/3/library/audit_events.html).
EVENTS = ("exec", "import", "os.putenv", "os.unsetenv")


def library_folders():
    """The folders of the standard library and of installed packages, each with a slash at its end."""
    installed = [path for path in sys.path if os.path.basename(path) in ("site-packages", "dist-packages")]
    return tuple(os.path.join(path, "") for path in [os.path.dirname(os.__file__), *installed])


def open_device():
    """The accelerator that this process has opened, or None."""
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            path = os.readlink("/proc/self/fd/" + descriptor)
        except OSError:
            continue  # the descriptor of the listing itself
        if path.startswith(DEVICES):
            return path
    return None


def answer(descriptor):
    """Writes the pid: this file is imported, and so a standby would be one."""
    os.pwrite(descriptor, os.fsencode("%d\n" % os.getpid()), 0)
    os.close(descriptor)


def learn(descriptor):
    """Writes the pid, and then the name of each module when it begins to load: a line "NAME", "*NAME" for one that is the program's
    own, "-NAME" if loading failed. The last line is "!REASON": what the program has changed may matter to later modules."""
    libraries = library_folders()
    path = list(sys.path)
    process = os.getpid()
    os.set_inheritable(descriptor, False)
    file = os.fstat(descriptor)[1:3]
    size = os.fstat(descriptor).st_size
    used = 0
    is_over = False
    set_variable = None
    loading = []

    def write(line):
        nonlocal used, is_over
        data = os.fsencode(line + "\n")
        # The program may have closed the descriptor, and its number may be another file by now.
        if used + len(data) > size or os.fstat(descriptor)[1:3] != file:
            is_over = True
            return
        used += os.pwrite(descriptor, data, used)

    def is_library(origin):
        return origin in ("frozen", "built-in") or origin.startswith(libraries)

    def is_set_by_import():
        """True within the import of a library, which a standby repeats with all that it does."""
        frame = sys._getframe(3)
        while frame is not None:
            where = frame.f_code.co_filename
            if not where.startswith("<frozen ") and not is_library(where):
                return False
            if frame.f_code.co_name == "<module>":
                return True
            frame = frame.f_back
        return False

    def reason_to_end(name):
        if set_variable is not None:
            return "it sets the variable " + set_variable
        if sys.path != path and sys.path[1:] != path:  # the program's own folder comes first
            return "it changes sys.path"
        if _thread._count() > 0:
            return "it starts a thread"
        device = open_device() if "." not in name else None
        return "it opens " + device if device else None

    def note_failures():
        while loading:
            module = sys.modules.get(loading[-1])
            if module is not None and getattr(module.__spec__, "_initializing", False):
                return
            if module is None:
                write("-" + loading[-1])
            loading.pop()

    def note(name, origin, is_python):
        nonlocal is_over
        if not is_library(origin):
            write("*" + name)
            return
        reason = reason_to_end(name)
        if reason is not None:
            write("!" + reason)
            is_over = True
            return
        note_failures()
        if is_python:  # an extension module is not in sys.modules before it has loaded
            loading.append(name)
        write(name)

    def take(event, details):
        nonlocal set_variable
        if event == "exec":
            caller = sys._getframe(1).f_back  # none for the program itself, which no loader executes
            frame = caller and caller.f_back
            if frame is None or frame.f_code.co_name != "exec_module":
                return
            spec = getattr(frame.f_locals.get("module"), "__spec__", None)
            if spec is not None and spec.origin is not None:
                note(spec.name, spec.origin, True)
        elif event == "import":
            if details[1] is not None:  # an extension module, which has a file
                note(details[0], details[1], False)
        elif not is_set_by_import():
            set_variable = os.fsdecode(details[0])

    def on_event(event, details):
        nonlocal is_over
        if is_over or event not in EVENTS or os.getpid() != process:
            return
        try:
            take(event, details)
        except Exception:
            is_over = True  # what is noted by now stays right, and the program must not see an error of ours

    write(str(process))
    sys.addaudithook(on_event)


class Pace:
    """Sleeps between imports three times as long as they took the CPU, where muster cannot lower this process's priority. Stands in
    sys.meta_path, and finds no module."""

    def __init__(self):
        self.used = time.process_time()

    def find_spec(self, name, path=None, target=None):
        used = time.process_time()
        time.sleep(min(3 * (used - self.used), 1))
        self.used = used


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


def import_modules(names):
    """Returns why this process is no standby, or None."""
    path, folder, arguments = list(sys.path), os.getcwd(), list(sys.argv)
    for name in names:
        try:
            __import__(name)
        except Exception as error:
            return "importing %s failed: %s: %s" % (name, type(error).__name__, error)
        if _thread._count() > 0:
            return "importing %s starts a thread" % name
    if sys.path != path:
        return "an import changes sys.path"
    if os.getcwd() != folder:
        return "an import changes the working directory"
    if sys.argv != arguments:
        return "an import changes the arguments"
    device = open_device()
    if device is not None:
        return "an import opens " + device
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    return "an import starts a process"


def stand_by(descriptor):
    """Imports what muster names, waits for its order, and sets the variables that differ by then. Ends the process if it cannot be
    a standby, or is no longer needed."""
    os.set_inheritable(descriptor, False)
    pace, own, *names = os.fsdecode(read_message(descriptor) or b"").split("\n")
    finder = Pace()
    if pace:
        sys.meta_path.insert(0, finder)
    reason = import_modules(names)
    if pace:
        sys.meta_path.remove(finder)
    shadowed = [name for name in own.split() if name in sys.modules]
    if reason is None and shadowed:
        reason = "the program has a module %s of its own" % shadowed[0]
    if any(finder.find_spec("usercustomize", None) for finder in sys.meta_path):
        reason = "there is a module usercustomize"
    os.write(descriptor, os.fsencode("no " + reason if reason else "ready") + b"\n")
    order = None if reason else read_message(descriptor)
    if order is None:
        os._exit(0)
    os.close(descriptor)
    for field in filter(None, order.split(b"\0")):
        name, is_set, value = field.partition(b"=")
        if is_set:
            os.environb[name] = value
        else:
            os.environb.pop(name, None)


def run():
    """Undoes what made the interpreter import this file, lets it import what it would have imported instead, and does what the
    variable _MUSTER_STANDBY asks for: "learn 5", "answer 5" or "stand_by 5", behind it the PYTHONPATH that was set before."""
    what, descriptor, *python_path = os.environ.pop("_MUSTER_STANDBY").split(" ", 2)
    folder = os.path.dirname(__file__)
    os.environ.pop("PYTHONPATH", None)
    if python_path:
        os.environ["PYTHONPATH"] = python_path[0]
    sys.path[:] = [path for path in sys.path if path != folder]
    sys.path_importer_cache.pop(folder, None)
    del sys.modules["sitecustomize"]
    error = None
    try:
        __import__("sitecustomize")
    except Exception as raised:
        error = raised
    {"answer": answer, "learn": learn, "stand_by": stand_by}[what](int(descriptor))
    if error is not None:
        raise error


if "_MUSTER_STANDBY" in os.environ:
    run()
