#include "job.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char refusal[512];

void take_job(struct frame* frame, struct job* job) {
  memset(job, 0, sizeof *job);
  job->name = take_text(frame);
  job->folder = take_text(frame);
  job->local_node = take_number(frame);
  job->node_count = take_count(frame);
  job->nodes = allocate(job->node_count * sizeof *job->nodes);
  for (uint32_t i = 0; i < job->node_count; ++i) {
    struct node* const node = &job->nodes[i];
    node->host = take_text(frame);
    node->rank_count = take_count(frame);
    node->ranks = allocate(node->rank_count * sizeof *node->ranks);
    for (uint32_t k = 0; k < node->rank_count; ++k) {
      node->ranks[k] = take_number(frame);
    }
    job->size += node->rank_count;
  }
  if (job->local_node >= job->node_count) {
    _exit(1);
  }
}

/* --- Setting values. Since 4.2 the macros of the library's header are calls, so these replace them. ---------- */

static void set_key(pmix_info_t* info, const char* key) {
  memset(info, 0, sizeof *info);
  strncpy(info->key, key, PMIX_MAX_KEYLEN);
}

static void set_text(pmix_info_t* info, const char* key, const char* text) {
  set_key(info, key);
  info->value.type = PMIX_STRING;
  info->value.data.string = strdup(text);
}

static void set_number(pmix_info_t* info, const char* key, uint32_t number) {
  set_key(info, key);
  info->value.type = PMIX_UINT32;
  info->value.data.uint32 = number;
}

static void set_short(pmix_info_t* info, const char* key, uint16_t number) {
  set_key(info, key);
  info->value.type = PMIX_UINT16;
  info->value.data.uint16 = number;
}

static void set_flag(pmix_info_t* info, const char* key) {
  set_key(info, key);
  info->value.type = PMIX_BOOL;
  info->value.data.flag = true;
}

static void set_rank(pmix_info_t* info, const char* key, uint32_t rank) {
  set_key(info, key);
  info->value.type = PMIX_PROC_RANK;
  info->value.data.rank = rank;
}

/* Sets a list that the library has packed: it may contain zero bytes, and only the library knows its end. */
static void set_packed(const struct pmix_library* library, pmix_info_t* info, const char* key, const char* packed) {
  set_key(info, key);
  if (library->value_load != NULL && strncmp(packed, "pmix", 4) != 0) {
    library->value_load(&info->value, packed, PMIX_REGEX);
  } else {
    set_text(info, key, packed);
  }
}

/* --- Lists as texts ------------------------------------------------------------------------------------------- */

struct list {
  char* text;
  size_t size;
};

static void append(struct list* list, const char* separator, const char* text) {
  const size_t added = strlen(separator) + strlen(text);
  char* grown = realloc(list->text, list->size + added + 1);
  if (grown == NULL) {
    _exit(1);
  }
  list->text = grown;
  snprintf(list->text + list->size, added + 1, "%s%s", separator, text);
  list->size += added;
}

static void append_rank(struct list* list, const char* separator, uint32_t rank) {
  char text[16];
  snprintf(text, sizeof text, "%u", rank);
  append(list, separator, text);
}

/* "0,1,2" */
static void append_ranks(struct list* list, const struct node* node) {
  for (uint32_t k = 0; k < node->rank_count; ++k) {
    append_rank(list, k > 0 ? "," : "", node->ranks[k]);
  }
}

/* --- Calls of the library ------------------------------------------------------------------------------------- */

/* Waits for the result of a call: most calls are answered later, from the library's thread. */
struct answer {
  pthread_mutex_t mutex;
  pthread_cond_t arrived;
  int is_here;
  pmix_status_t status;
};

static void on_answer(pmix_status_t status, void* given) {
  struct answer* const answer = given;
  pthread_mutex_lock(&answer->mutex);
  answer->status = status;
  answer->is_here = 1;
  pthread_cond_signal(&answer->arrived);
  pthread_mutex_unlock(&answer->mutex);
}

static pmix_status_t wait_for(struct answer* answer, pmix_status_t called) {
  if (called != PMIX_SUCCESS) {
    return called == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : called;
  }
  pthread_mutex_lock(&answer->mutex);
  while (!answer->is_here) {
    pthread_cond_wait(&answer->arrived, &answer->mutex);
  }
  pthread_mutex_unlock(&answer->mutex);
  return answer->status;
}

static const struct answer kNone = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};

static const char* refuse(const struct pmix_library* library, const char* call, pmix_status_t why) {
  snprintf(refusal, sizeof refusal, "%s of %s failed: %s", call, library->get_version(), library->error_string(why));
  return refusal;
}

static pmix_status_t init(const struct pmix_library* library, pmix_server_module_t* module, const struct job* job) {
  pmix_info_t directives[4];
  set_text(&directives[0], PMIX_SERVER_TMPDIR, job->folder);
  set_text(&directives[1], PMIX_SYSTEM_TMPDIR, job->folder);
  set_text(&directives[2], PMIX_HOSTNAME, job->nodes[job->local_node].host); /* several nodes may be one machine */
  set_flag(&directives[3], PMIX_SERVER_SHARE_TOPOLOGY); /* else each rank reads the topology again */
  return library->server_init(module, directives, 4);
}

/* Describes one rank: the values that every rank may ask for. */
static void describe_rank(pmix_info_t* info, const struct job* job, uint32_t node, uint32_t local) {
  enum {
    kFields = 8
  };
  const uint32_t rank = job->nodes[node].ranks[local];
  pmix_info_t* const fields = allocate(kFields * sizeof *fields);
  set_rank(&fields[0], PMIX_RANK, rank);
  set_rank(&fields[1], PMIX_GLOBAL_RANK, rank);
  set_rank(&fields[2], PMIX_APP_RANK, rank);
  set_short(&fields[3], PMIX_LOCAL_RANK, (uint16_t)local);
  set_short(&fields[4], PMIX_NODE_RANK, (uint16_t)local);
  set_number(&fields[5], PMIX_NODEID, node);
  set_number(&fields[6], PMIX_APPNUM, 0);
  set_text(&fields[7], PMIX_HOSTNAME, job->nodes[node].host);
  pmix_data_array_t* const array = allocate(sizeof *array);
  array->type = PMIX_INFO;
  array->size = kFields;
  array->array = fields;
  set_key(info, PMIX_PROC_DATA);
  info->value.type = PMIX_DATA_ARRAY;
  info->value.data.darray = array;
}

static pmix_status_t register_job(const struct pmix_library* library, const struct job* job) {
  enum {
    kOfJob = 12
  };
  const struct node* const own = &job->nodes[job->local_node];
  struct list hosts = {strdup(""), 0};
  struct list places = {strdup(""), 0};
  struct list peers = {strdup(""), 0};
  for (uint32_t i = 0; i < job->node_count; ++i) {
    append(&hosts, i > 0 ? "," : "", job->nodes[i].host);
    append(&places, i > 0 ? ";" : "", "");
    append_ranks(&places, &job->nodes[i]);
  }
  append_ranks(&peers, own);
  char* packed_hosts = NULL;
  char* packed_places = NULL;
  pmix_status_t status = library->generate_regex(hosts.text, &packed_hosts);
  if (status == PMIX_SUCCESS) {
    status = library->generate_ppn(places.text, &packed_places);
  }
  if (status != PMIX_SUCCESS) {
    return status;
  }
  const size_t count = kOfJob + job->size;
  pmix_info_t* const facts = allocate(count * sizeof *facts);
  set_number(&facts[0], PMIX_UNIV_SIZE, job->size);
  set_number(&facts[1], PMIX_JOB_SIZE, job->size);
  set_number(&facts[2], PMIX_LOCAL_SIZE, own->rank_count);
  set_number(&facts[3], PMIX_MAX_PROCS, job->size);
  set_number(&facts[4], PMIX_NUM_NODES, job->node_count);
  set_packed(library, &facts[5], PMIX_NODE_MAP, packed_hosts);
  set_packed(library, &facts[6], PMIX_PROC_MAP, packed_places);
  set_text(&facts[7], PMIX_JOBID, job->name);
  set_text(&facts[8], PMIX_LOCAL_PEERS, peers.text);
  set_number(&facts[9], PMIX_JOB_NUM_APPS, 1);
  set_rank(&facts[10], PMIX_LOCALLDR, own->rank_count > 0 ? own->ranks[0] : 0);
  set_text(&facts[11], PMIX_TMPDIR, job->folder); /* Open MPI 5 leaves directories there */
  size_t next = kOfJob;
  for (uint32_t i = 0; i < job->node_count; ++i) {
    for (uint32_t k = 0; k < job->nodes[i].rank_count; ++k) {
      describe_rank(&facts[next++], job, i, k);
    }
  }
  struct answer answer = kNone;
  return wait_for(&answer, library->register_nspace(job->name, (int)own->rank_count, facts, count, on_answer, &answer));
}

pmix_proc_t process_of(const struct job* job, uint32_t rank) {
  pmix_proc_t process;
  memset(&process, 0, sizeof process);
  strncpy(process.nspace, job->name, PMIX_MAX_NSLEN);
  process.rank = rank;
  return process;
}

static pmix_status_t register_ranks(const struct pmix_library* library, const struct job* job) {
  const struct node* const own = &job->nodes[job->local_node];
  for (uint32_t k = 0; k < own->rank_count; ++k) {
    const pmix_proc_t process = process_of(job, own->ranks[k]);
    struct answer answer = kNone;
    const pmix_status_t status =
        wait_for(&answer, library->register_client(&process, getuid(), getgid(), NULL, on_answer, &answer));
    if (status != PMIX_SUCCESS) {
      return status;
    }
  }
  return PMIX_SUCCESS;
}

const char* serve_job(const struct pmix_library* library, pmix_server_module_t* module, const struct job* job) {
  pmix_status_t status = init(library, module, job);
  if (status != PMIX_SUCCESS) {
    return refuse(library, "PMIx_server_init", status);
  }
  status = register_job(library, job);
  if (status != PMIX_SUCCESS) {
    return refuse(library, "PMIx_server_register_nspace", status);
  }
  status = register_ranks(library, job);
  return status == PMIX_SUCCESS ? NULL : refuse(library, "PMIx_server_register_client", status);
}
