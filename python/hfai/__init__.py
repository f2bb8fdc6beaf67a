# SPDX-License-Identifier: Apache-2.0
"""The package that scripts for HAI import as hfai where none is installed: muster puts this on PYTHONPATH (--compat-hfai).

PYTHONPATH comes before what is installed. So this package looks for another hfai first, and gives way to it.
"""

import importlib.util
import os
import sys

_FOLDER = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def _find_another(path):
    """The spec of another hfai below `path`, or by a finder of an editable installation; None if there is none."""
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        spec = find(__name__, path) if find else None
        # A folder without __init__.py is anybody's, such as one of data.
        if spec is not None and spec.loader is not None and spec.origin and _folder_of(spec.origin) != _FOLDER:
            return spec
    return None


def _folder_of(origin):
    return os.path.dirname(os.path.dirname(os.path.realpath(origin)))


def _give_way(spec, path):
    """Loads the other one in the place of this one: the import system returns what stands in sys.modules then."""
    other = importlib.util.module_from_spec(spec)
    other._hfai_path = path  # another copy of this file looks in the rest only, so that two do not look for each other
    sys.modules[__name__] = other
    spec.loader.exec_module(other)
    del other._hfai_path


_path = [one for one in globals().get("_hfai_path", sys.path) if os.path.realpath(one or os.curdir) != _FOLDER]
_another = _find_another(_path)
if _another:
    _give_way(_another, _path)
else:
    from . import client, distributed, multiprocessing
