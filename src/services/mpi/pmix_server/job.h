/* The job as received from muster, and its registration with the PMIx library. */
#ifndef MUSTER_PMIX_SERVER_JOB_H
#define MUSTER_PMIX_SERVER_JOB_H

#include "frames.h"
#include "library.h"

/* A node of the job, by node rank. */
struct node {
  char* host;
  uint32_t rank_count;
  uint32_t* ranks; /* the ranks of this node, by local rank */
};

struct job {
  char* name;   /* PMIx namespace, unique on this machine */
  char* folder; /* private directory for files of the library and the ranks */
  uint32_t local_node;
  uint32_t node_count;
  struct node* nodes;
  uint32_t size; /* ranks of all nodes */
};

void take_job(struct frame* frame, struct job* job);

/* The library's identifier of a rank. */
pmix_proc_t process_of(const struct job* job, uint32_t rank);

/* Makes this process the PMIx server of its node: `server_init`, the namespace, a client for each rank
 * here. Returns NULL, or what failed. */
const char* serve_job(const struct pmix_library* library, pmix_server_module_t* module, const struct job* job);

#endif
