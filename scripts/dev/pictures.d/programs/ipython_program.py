"""The last rank starts IPython."""

import IPython
from moment import IS_LAST, RANK

losses = [0.5, 0.25]
if RANK == 0:
    print("rank 0 is here")
if IS_LAST:
    IPython.embed(colors="linux", confirm_exit=False, enable_tip=False, banner1="")
