#!/bin/bash
# {name}: {nodes} node(s), on each of them one agent of muster, which starts the workers there.
# Made by `muster render pbs`, for OpenPBS and PBS Professional; submit it with qsub.
#PBS -N {name}
#PBS -q {queue}
#PBS -l select={nodes}:{chunk}
#PBS -l place={place}
#PBS -l walltime={time_limit}
# The job may be started again when a node fails.
#PBS -r y
#PBS -j oe
{patch}

cd "$PBS_O_WORKDIR" || exit
{environment}
export MUSTER_FORWARD_ENV={forwarded}
export MUSTER_MASTER_PORT={port}
export MUSTER_NPROC_PER_NODE={workers}

# qdel and the end of the walltime send SIGTERM to this shell. It hands it on, and stays until muster has ended. SIGKILL
# follows after the queue's kill_delay, which is 10 s by default; {notice} s leave the workers their whole grace.
trap 'interrupted=yes; kill -TERM $! 2>/dev/null' TERM

# This muster starts the agents through ssh, and ends with the job's code (docs/interfaces.md).
muster --grace {grace} --hostfile "$PBS_NODEFILE" {words} &
# A signal ends `wait`, and not muster.
interrupted=yes
while [[ $interrupted ]]; do
  interrupted=
  wait $!
  code=$?
done
exit "$code"
