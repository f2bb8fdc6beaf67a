/* The PMIx server as a function: its program, with a library of PMIx that does nothing but look at what it is given. */
#ifndef MUSTER_FUZZ_PMIX_SERVER_H
#define MUSTER_FUZZ_PMIX_SERVER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Messages that the server has sent. */
struct said {
  char* bytes;
  size_t size;
};

/* Runs it on what muster would send, and returns its exit code; `said` is valid until the next run. */
int run_pmix_server(const char* bytes, size_t size, struct said* said);

#ifdef __cplusplus
}
#endif

#endif
