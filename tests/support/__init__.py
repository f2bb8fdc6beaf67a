"""Helpers of the process and cluster tests: starting muster, waiting, looking at processes."""
