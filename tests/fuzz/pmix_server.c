/* Everything that the server gets from outside comes from here: bytes of muster, memory, and the library. The build
 * calls its other files' read(), send(), calloc() and so on by the names fuzz_*. */
#include "pmix_server.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fuzz_free(void* bytes);

#define fprintf(...) /* a word for people, a million times */
#define free fuzz_free
#define main pmix_server_main
#include "services/mpi/pmix_server/main.c"
#undef fprintf
#undef free
#undef main

enum {
  kMostMemory = 64 << 20,
  kGivenUp = 100 /* beside exit codes, which setjmp cannot return where they are 0 */
};

static const char* input;
static size_t input_size;
static char* output;
static size_t output_size;
static jmp_buf end;

static void require(int holds, const char* what) {
  if (!holds) {
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
  }
}

/* --- The system ------------------------------------------------------------------------------------------------- */

ssize_t fuzz_read(int stream, void* to, size_t size) {
  (void)stream;
  const size_t got = size < input_size ? size : input_size;
  memcpy(to, input, got);
  input += got;
  input_size -= got;
  return (ssize_t)got;
}

ssize_t fuzz_send(int stream, const void* bytes, size_t size, int flags) {
  (void)stream;
  (void)flags;
  output = realloc(output, output_size + size);
  memcpy(output + output_size, bytes, size);
  output_size += size;
  return (ssize_t)size;
}

_Noreturn void fuzz_exit(int code) {
  longjmp(end, kGivenUp + code);
}

/* Blocks know each other, so that all can be freed at the end. */
struct block {
  struct block* next;
  struct block* before;
  char bytes[];
};

static struct block blocks = {&blocks, &blocks};

static struct block* block_of(void* bytes) {
  return (struct block*)((char*)bytes - sizeof(struct block));
}

void fuzz_free(void* bytes) {
  if (bytes != NULL) {
    struct block* const block = block_of(bytes);
    block->next->before = block->before;
    block->before->next = block->next;
    free(block);
  }
}

void* fuzz_calloc(size_t count, size_t size) {
  if (size != 0 && count > kMostMemory / size) {
    return NULL;
  }
  struct block* const block = calloc(1, sizeof *block + count * size);
  block->next = blocks.next;
  block->before = &blocks;
  block->next->before = block;
  blocks.next = block;
  return block->bytes;
}

void* fuzz_realloc(void* bytes, size_t size) {
  if (bytes == NULL) {
    return fuzz_calloc(1, size);
  }
  struct block* const block = realloc(block_of(bytes), sizeof *block + size);
  block->next->before = block;
  block->before->next = block;
  return block->bytes;
}

char* fuzz_strdup(const char* text) {
  return strcpy(fuzz_calloc(1, strlen(text) + 1), text);
}

/* --- The library ------------------------------------------------------------------------------------------------- */

static pmix_server_module_t* functions;
static uint32_t expected_ranks; /* of this node */
static uint32_t seen_ranks;
static int open_fences;
static int open_sayings;

static void read_info(const pmix_info_t* info) {
  require(memchr(info->key, '\0', sizeof info->key) != NULL, "a key ends");
  if (info->value.type == PMIX_STRING) {
    require(strlen(info->value.data.string) < kMostMemory, "a text ends");
  }
  if (info->value.type == PMIX_DATA_ARRAY) {
    const pmix_data_array_t* const array = info->value.data.darray;
    for (size_t i = 0; i < array->size; ++i) {
      const pmix_info_t* const field = (const pmix_info_t*)array->array + i;
      require(field->value.type != PMIX_DATA_ARRAY, "fields are plain");
      require(memchr(field->key, '\0', sizeof field->key) != NULL, "a key ends");
    }
  }
}

static const char* version(void) {
  return "4.2.2 of the fuzzer";
}

static const char* error_string(pmix_status_t status) {
  (void)status;
  return "the fuzzer's error";
}

static pmix_status_t init(pmix_server_module_t* module_, pmix_info_t directives[], size_t count) {
  functions = module_;
  for (size_t i = 0; i < count; ++i) {
    read_info(&directives[i]);
  }
  return PMIX_SUCCESS;
}

static pmix_status_t finalize(void) {
  return PMIX_SUCCESS;
}

static pmix_status_t generate(const char* list, char** packed) {
  *packed = fuzz_strdup(list);
  return PMIX_SUCCESS;
}

static pmix_status_t register_nspace(const pmix_nspace_t name, int ranks, pmix_info_t info[], size_t count,
                                     pmix_op_cbfunc_t done, void* given) {
  require(strlen(name) < kMostMemory, "a name ends");
  for (size_t i = 0; i < count; ++i) {
    read_info(&info[i]);
  }
  expected_ranks = (uint32_t)ranks;
  done(PMIX_SUCCESS, given);
  return PMIX_SUCCESS;
}

static void on_fence_over(pmix_status_t status, const char* bytes, size_t size, void* given,
                          pmix_release_cbfunc_t release_, void* release_given) {
  require(status == PMIX_SUCCESS || status == PMIX_ERR_PROC_ABORTED, "a fence ends in two ways");
  require(given == &open_fences && open_fences > 0, "a fence is over once");
  --open_fences;
  unsigned sum = 0;
  for (size_t i = 0; i < size; ++i) {
    sum += (unsigned char)bytes[i];
  }
  require(size > 0 || sum == 0, "all of it can be read");
  release_(release_given);
}

static void on_said(pmix_status_t status, void* given) {
  require(status == PMIX_SUCCESS && given == &open_sayings && open_sayings > 0, "it is said once");
  --open_sayings;
}

/* A text, or bytes that are no help text of Open MPI's. */
static void say(const pmix_proc_t* process, int is_text) {
  pmix_info_t info;
  memset(&info, 0, sizeof info);
  if (is_text) {
    strcpy(info.key, PMIX_LOG_STDERR);
    info.value.type = PMIX_STRING;
    info.value.data.string = "a word";
  } else {
    strcpy(info.key, PMIX_LOG_MSG);
    info.value.type = PMIX_BYTE_OBJECT;
    info.value.data.bo.bytes = "\0\0\0\1\0\0\0\3ab";
    info.value.data.bo.size = 11;
  }
  ++open_sayings;
  functions->log(process, &info, 1, NULL, 0, on_said, &open_sayings);
}

/* Each rank comes, says something, and begins a fence at once, as a real one would later. */
static pmix_status_t register_client(const pmix_proc_t* process, uid_t user, gid_t group, void* object,
                                     pmix_op_cbfunc_t done, void* given) {
  (void)user;
  (void)group;
  (void)done;
  (void)given;
  require(strlen(process->nspace) <= PMIX_MAX_NSLEN, "a name ends");
  ++seen_ranks;
  if (seen_ranks <= 4) {
    functions->client_connected(process, object, NULL, NULL);
    functions->abort(process, object, 5, process->nspace, NULL, 0, NULL, NULL);
    say(process, seen_ranks % 2);
    char* const part = fuzz_calloc(1, seen_ranks);
    ++open_fences;
    functions->fence_nb(process, seen_ranks % 2, NULL, 0, part, seen_ranks, on_fence_over, &open_fences);
  }
  return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t setup_fork(const pmix_proc_t* process, char*** variables) {
  (void)process;
  static char* some[] = {"PMIX_RANK=1", "PMIX_EMPTY=", NULL};
  *variables = some;
  return PMIX_SUCCESS;
}

const char* load_pmix(struct pmix_library* library) {
  *library = (struct pmix_library){version,         error_string,    init,       finalize, generate, generate,
                                   register_nspace, register_client, setup_fork, NULL};
  return NULL;
}

/* --- A run -------------------------------------------------------------------------------------------------------- */

static void forget_all(void) {
  questions = NULL;
  last_question = 0;
  open_fences = 0;
  open_sayings = 0;
  seen_ranks = 0;
  expected_ranks = 0;
  while (blocks.next != &blocks) {
    fuzz_free(blocks.next->bytes);
  }
  output_size = 0;
}

int run_pmix_server(const char* bytes, size_t size, struct said* said) {
  static char* words[] = {"muster-pmix", NULL};
  forget_all();
  input = bytes;
  input_size = size;
  const int jumped = setjmp(end);
  const int code = jumped == 0 ? pmix_server_main(1, words) : jumped - kGivenUp;
  require(code != 0 || seen_ranks == expected_ranks, "each rank of the node is registered");
  *said = (struct said){output, output_size};
  return code;
}
