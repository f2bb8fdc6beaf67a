# A secret that only the agents of this job share.
if [[ -z ${MUSTER_TOKEN:-}${MUSTER_TOKEN_FILE:-} ]]; then
  MUSTER_TOKEN=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')
  export MUSTER_TOKEN
fi
