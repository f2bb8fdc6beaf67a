# SPDX-License-Identifier: Apache-2.0
"""hfai.client, by muster."""

import importlib.util
import os
import sys

from . import distributed


def _find_muster():
    """The module that the script would import, or the copy beside this package."""
    try:
        import muster

        if hasattr(muster, "go_suspend"):  # and not a file of the user's with that name
            return muster
    except ImportError:
        pass
    folder = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    spec = importlib.util.spec_from_file_location("hfai._muster", os.path.join(folder, "muster", "__init__.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


_muster = _find_muster()


def receive_suspend_command():
    # type: () -> bool
    """True if the job is to save and end. As under HAI, only the first node is told, and all of its processes."""
    return distributed.get_rank() == 0 and _muster.receive_suspend_command()


def go_suspend():
    # type: () -> None
    """Says that the job is saved, and does not return; any node may. See muster.go_suspend()."""
    return _muster.go_suspend()
