"""What the process and cluster rings share: starting muster, waiting, looking at processes."""
