/* The PMIx server of one node for one attempt, through which MPI's ranks find each other without mpirun. It is a
 * separate program because muster is linked statically and cannot load the image's library: muster contains it, starts
 * it, and exchanges frames with it over descriptor 0.
 *
 *   muster                        this program                       ranks (libpmix in them)
 *     | -- job ----------------------> |                                  |
 *     | <-- environment of each rank - | PMIx_server_init, register       |
 *     | <-- ready -------------------- |                                  |
 *     | starts the ranks ------------------------------------------------>|
 *     | <-- connected ---------------- | <------------- PMIx_Init ------- |
 *     | <-- fence: the part of this -- | <------------- PMIx_Fence ------ |
 *     |     node                       |                                  |
 *     | -- fenced: all parts --------> | -------------------------------> |
 *     | <-- said: text for the user -- | <------------- PMIx_Log -------- |
 *     | -- shown --------------------> | -------------------------------> |
 *
 * At the end of the stream it finalizes the server and exits. */
#include "frames.h"
#include "job.h"
#include "library.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
  kStream = 0,
  /* Up to this many ranks on a node, sending everything to each costs less than shared memory: 13 ms of 73 with one,
   * 20 of 160 with four; with eight it costs 40 of 290 more. */
  kFewRanks = 4
};

/* --- Callbacks of the library, called from its thread ---------------------------------------------------------- */

static void send_rank(enum frame_kind kind, uint32_t rank) {
  struct frame_writer writer;
  begin_frame(&writer, kind);
  add_number(&writer, rank);
  send_frame(&writer, kStream);
}

/* Reports success in the way that all versions of the library accept. */
static pmix_status_t agree(pmix_op_cbfunc_t done, void* given) {
  if (done != NULL) {
    done(PMIX_SUCCESS, given);
  }
  return PMIX_SUCCESS;
}

static pmix_status_t on_connected(const pmix_proc_t* process, void* object, pmix_op_cbfunc_t done, void* given) {
  (void)object;
  send_rank(FRAME_CONNECTED, process->rank);
  return agree(done, given);
}

static pmix_status_t on_finalized(const pmix_proc_t* process, void* object, pmix_op_cbfunc_t done, void* given) {
  (void)object;
  send_rank(FRAME_FINALIZED, process->rank);
  return agree(done, given);
}

static pmix_status_t on_abort(const pmix_proc_t* process, void* object, int status, const char message[],
                              pmix_proc_t processes[], size_t count, pmix_op_cbfunc_t done, void* given) {
  (void)object;
  (void)processes;
  (void)count;
  struct frame_writer writer;
  begin_frame(&writer, FRAME_ABORTED);
  add_number(&writer, process->rank);
  add_number(&writer, (uint32_t)status);
  add_text(&writer, message == NULL ? "" : message);
  send_frame(&writer, kStream);
  return agree(done, given);
}

/* A request of the library that muster has not answered yet. The answer comes from another thread, because the
 * library does not accept every answer from within its own request. */
struct question {
  uint32_t number;
  pmix_modex_cbfunc_t fenced; /* callback of a fence; else NULL */
  pmix_op_cbfunc_t done;      /* callback of other requests; may be NULL */
  void* given;
  struct question* next;
};

static struct question* questions = NULL;
static uint32_t last_question = 0;
static pthread_mutex_t questions_mutex = PTHREAD_MUTEX_INITIALIZER;

static uint32_t remember(pmix_modex_cbfunc_t fenced, pmix_op_cbfunc_t done, void* given) {
  struct question* const question = allocate(sizeof *question);
  pthread_mutex_lock(&questions_mutex);
  *question = (struct question){++last_question, fenced, done, given, questions};
  questions = question;
  pthread_mutex_unlock(&questions_mutex);
  return question->number;
}

/* NULL: no request has this number, or it is of the other kind. */
static struct question* take_question(uint32_t number, bool is_fence) {
  struct question* found = NULL;
  pthread_mutex_lock(&questions_mutex);
  for (struct question** at = &questions; *at != NULL; at = &(*at)->next) {
    if ((*at)->number == number && ((*at)->fenced != NULL) == is_fence) {
      found = *at;
      *at = found->next;
      break;
    }
  }
  pthread_mutex_unlock(&questions_mutex);
  return found;
}

static int is_text_for_user(const pmix_info_t* info) {
  return info->value.type == PMIX_STRING && info->value.data.string != NULL &&
         (strcmp(info->key, PMIX_LOG_STDERR) == 0 || strcmp(info->key, PMIX_LOG_STDOUT) == 0);
}

/* Forwards a message that an MPI library wants the launcher to show: an error, or advice. */
static void on_log(const pmix_proc_t* process, const pmix_info_t data[], size_t count, const pmix_info_t directives[],
                   size_t directive_count, pmix_op_cbfunc_t done, void* given) {
  (void)directives;
  (void)directive_count;
  const char* bytes = NULL;
  size_t size = 0;
  uint32_t is_packed = 0;
  for (size_t i = 0; i < count && bytes == NULL; ++i) {
    const pmix_value_t* const value = &data[i].value;
    if (value->type == PMIX_BYTE_OBJECT && strcmp(data[i].key, PMIX_LOG_MSG) == 0) {
      bytes = value->data.bo.bytes;
      size = value->data.bo.size;
      is_packed = 1;
    } else if (is_text_for_user(&data[i])) {
      bytes = value->data.string;
      size = strlen(bytes);
    }
  }
  struct frame_writer writer;
  begin_frame(&writer, FRAME_SAID);
  add_number(&writer, remember(NULL, done, given));
  add_number(&writer, process->rank);
  add_number(&writer, is_packed);
  add_bytes(&writer, bytes, size);
  send_frame(&writer, kStream);
}

/* Called once all participating ranks of this node are at the fence, with their contributions. */
static pmix_status_t on_fence(const pmix_proc_t processes[], size_t count, const pmix_info_t directives[],
                              size_t directive_count, char* data, size_t size, pmix_modex_cbfunc_t done, void* given) {
  (void)directives;
  (void)directive_count;
  size_t named = count;
  for (size_t i = 0; i < count; ++i) {
    if (processes[i].rank == PMIX_RANK_WILDCARD) {
      named = 0; /* all */
    }
  }
  struct frame_writer writer;
  begin_frame(&writer, FRAME_FENCE);
  add_number(&writer, remember(done, NULL, given));
  add_number(&writer, (uint32_t)named);
  for (size_t i = 0; i < named; ++i) {
    add_number(&writer, processes[i].rank);
  }
  add_bytes(&writer, data, size);
  free(data);
  send_frame(&writer, kStream);
  return PMIX_SUCCESS;
}

/* Refuses a request for a value of a rank on another node that no fence has brought: all values go by fences here. */
static pmix_status_t on_direct_modex(const pmix_proc_t* process, const pmix_info_t directives[], size_t directive_count,
                                     pmix_modex_cbfunc_t done, void* given) {
  (void)process;
  (void)directives;
  (void)directive_count;
  (void)done;
  (void)given;
  return PMIX_ERR_NOT_FOUND;
}

static pmix_server_module_t module = {
    .client_connected = on_connected,
    .client_finalized = on_finalized,
    .abort = on_abort,
    .fence_nb = on_fence,
    .direct_modex = on_direct_modex,
    .log = on_log,
};

/* --- Messages from muster -------------------------------------------------------------------------------------- */

static void release(void* bytes) {
  free(bytes);
}

static void finish_fence(struct frame* frame) {
  struct question* const fence = take_question(take_number(frame), true);
  const int is_complete = (int)take_number(frame);
  if (fence == NULL) {
    return;
  }
  const size_t size = frame->size - frame->at;
  char* const merged = allocate(size);
  memcpy(merged, frame->bytes + frame->at, size);
  fence->fenced(is_complete ? PMIX_SUCCESS : PMIX_ERR_PROC_ABORTED, merged, size, fence->given, release, merged);
  free(fence);
}

static void finish_log(struct frame* frame) {
  struct question* const saying = take_question(take_number(frame), false);
  if (saying != NULL) {
    agree(saying->done, saying->given);
    free(saying);
  }
}

static void tell(enum frame_kind kind, const char* text) {
  struct frame_writer writer;
  begin_frame(&writer, kind);
  add_text(&writer, text);
  send_frame(&writer, kStream);
}

/* Sends muster the variables that the library requires for each rank. */
static const char* tell_environments(const struct pmix_library* library, const struct job* job) {
  const struct node* const own = &job->nodes[job->local_node];
  for (uint32_t k = 0; k < own->rank_count; ++k) {
    const pmix_proc_t process = process_of(job, own->ranks[k]);
    char** variables = NULL;
    const pmix_status_t status = library->setup_fork(&process, &variables);
    if (status != PMIX_SUCCESS) {
      return library->error_string(status);
    }
    struct frame_writer writer;
    begin_frame(&writer, FRAME_ENVIRONMENT);
    add_number(&writer, process.rank);
    for (char** variable = variables; variable != NULL && *variable != NULL; ++variable) {
      add_text(&writer, *variable);
    }
    send_frame(&writer, kStream);
  }
  return NULL;
}

static const char* begin(struct pmix_library* library, struct job* job) {
  const char* refusal = load_pmix(library);
  if (refusal == NULL) {
    refusal = serve_job(library, &module, job);
  }
  if (refusal == NULL) {
    refusal = tell_environments(library, job);
  }
  return refusal;
}

/* Configures the library by environment variables before it is loaded. Variables of the user stay. */
static void prepare_library(const struct job* job) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < job->node_count; ++i) {
    most = job->nodes[i].rank_count > most ? job->nodes[i].rank_count : most;
  }
  if (most <= kFewRanks) {
    setenv("PMIX_MCA_gds", "hash", 0);
  }
  setenv("TMPDIR", job->folder, 1); /* files that the library leaves there are deleted with the directory */
}

/* muster-pmix --probe: tells whether the image has a usable library. */
static int answer_probe(struct pmix_library* library) {
  const char* const refusal = load_pmix(library);
  puts(refusal == NULL ? library->get_version() : refusal);
  return refusal == NULL ? 0 : 1;
}

int main(int count, char* words[]) {
  static struct pmix_library library;
  static struct job job;
  struct frame frame;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  /* The library reads the machine's topology by hwloc, whose display plugins would load half a desktop: 3 ms for a
   * node. */
  setenv("HWLOC_PLUGINS_BLACKLIST", "hwloc_gl,hwloc_opencl,hwloc_xml_libxml", 0);
  /* Without HOME it searches the user database, and crashes where the user has no entry. */
  setenv("HOME", "/", 0);
  if (count == 2 && strcmp(words[1], "--probe") == 0) {
    return answer_probe(&library);
  }
  if (!read_frame(kStream, &frame) || frame.kind != FRAME_JOB) {
    fprintf(stderr, "this program is a part of muster, which starts it for MPI jobs\n");
    return 2;
  }
  take_job(&frame, &job);
  prepare_library(&job);
  const char* const refusal = begin(&library, &job);
  if (refusal != NULL) {
    tell(FRAME_REFUSED, refusal);
    return 1;
  }
  tell(FRAME_READY, library.get_version());
  while (read_frame(kStream, &frame)) {
    if (frame.kind == FRAME_FENCED) {
      finish_fence(&frame);
    } else if (frame.kind == FRAME_SHOWN) {
      finish_log(&frame);
    }
    free(frame.bytes);
  }
  library.server_finalize();
  return 0;
}
