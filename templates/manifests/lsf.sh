#!/bin/bash
# {name}: {nodes} node(s), on each of them one agent of muster, which starts the workers there.
# Made by `muster render lsf`, for IBM Spectrum LSF; submit it with bsub < FILE.
#BSUB -J {name}
#BSUB -q {queue}
#BSUB -n {nodes}
#BSUB -R "{requirements}"
#BSUB -gpu "num={gpus}"
#BSUB {whole_node}
#BSUB -W {minutes}
# Before the time limit of {minutes} minutes the job gets SIGTERM, so early that the workers have their whole grace.
#BSUB -wa TERM -wt {notice_minutes}
# After these codes (docs/interfaces.md) the job is queued again, as often as the queue's MAX_JOB_REQUEUE allows.
#BSUB -Q "{restart_codes}"
# It may be started again when a node fails, too.
#BSUB -r
#BSUB -o %J.out
{patch}

{environment}
export MUSTER_FORWARD_ENV={forwarded}
export MUSTER_MASTER_PORT={port}
export MUSTER_NPROC_PER_NODE={workers}

# bkill sends SIGTERM to this shell. It hands it on, and stays until muster has ended.
trap 'interrupted=yes; kill -TERM $! 2>/dev/null' TERM

# This muster starts the agents through blaunch, and ends with the job's code.
muster --grace {grace} --hostfile "$LSB_DJOB_HOSTFILE" --remote-shell blaunch {words} &
# A signal ends `wait`, and not muster.
interrupted=yes
while [[ $interrupted ]]; do
  interrupted=
  wait $!
  code=$?
done
exit "$code"
