#!/bin/bash
# {name}: {nodes} node(s), on each of them one agent of muster, which starts the workers there.
# Made by `muster render slurm`; submit it with sbatch.
#SBATCH --job-name={name}
#SBATCH --partition={queue}
#SBATCH --qos={priority_class}
#SBATCH --nodes={nodes}
#SBATCH --ntasks-per-node=1
#SBATCH --gres={gres}
#SBATCH --cpus-per-task={cpus}
#SBATCH --{whole_node}
#SBATCH --mem={memory}
#SBATCH --mem={all_memory}
#SBATCH --time={time}
# Before the time limit every agent gets SIGTERM, so early that the workers have their whole grace. Slurm sends it to
# the workers themselves as well: a program that does not catch it ends at once.
#SBATCH --signal=TERM@{notice}
#SBATCH --{requeue}
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.out
{patch}

# scancel and a requeue send SIGTERM to this shell, too. It has to stay until srun has ended.
trap 'interrupted=yes' TERM
# With `sbatch --signal=B:USR1@120` the job is asked to save 120 s before it is ended, and ends with 85.
trap 'interrupted=yes; muster suspend --job "$SLURM_JOB_ID"' USR1

{environment}
export MUSTER_MASTER_PORT={port}
export MUSTER_NPROC_PER_NODE={workers}
{token}

# Programs that catch SIGUSR1 are asked to save by it with:  muster --tell-workers-by USR1 ...
# When an agent ends, muster ends the others in order and all end with the job's code. srun must not
# come before it: hence no --kill-on-bad-exit, and no --wait. A muster binds its workers itself.
srun --nodes={nodes} --ntasks-per-node=1 --kill-on-bad-exit=0 --wait=0 --cpu-bind=none \
  --cpus-per-task={cpus} \
  --container-image={container} \
  --container-mounts={mounts} \
  muster {words} &
# A signal ends `wait`, and not srun.
interrupted=yes
while [[ $interrupted ]]; do
  interrupted=
  wait $!
  code=$?
done

# What muster says may go better next time (docs/interfaces.md) is queued again, {restarts} time(s) at most.
case $code in
  {restart_codes})
    if ((${SLURM_RESTART_COUNT:-0} < {restarts})); then
      echo "exit code $code: queued again, restart $((${SLURM_RESTART_COUNT:-0} + 1)) of {restarts}" >&2
      scontrol requeue "$SLURM_JOB_ID"
    fi
    ;;
esac
exit "$code"
