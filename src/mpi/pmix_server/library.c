#include "library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The name that the library has had since version 2. */
static const char kName[] = "libpmix.so.2";

static char refusal[512];

/* False when the library has no such function. */
static int find(void* handle, const char* name, void* function) {
  void* const found = dlsym(handle, name);
  memcpy(function, &found, sizeof found);
  return found != NULL;
}

static int find_all(void* handle, struct pmix_library* library) {
  return find(handle, "PMIx_Get_version", &library->get_version) &&
         find(handle, "PMIx_Error_string", &library->error_string) &&
         find(handle, "PMIx_server_init", &library->server_init) &&
         find(handle, "PMIx_server_finalize", &library->server_finalize) &&
         find(handle, "PMIx_generate_regex", &library->generate_regex) &&
         find(handle, "PMIx_generate_ppn", &library->generate_ppn) &&
         find(handle, "PMIx_server_register_nspace", &library->register_nspace) &&
         find(handle, "PMIx_server_register_client", &library->register_client) &&
         find(handle, "PMIx_server_setup_fork", &library->setup_fork);
}

/* "OpenPMIx 4.2.2, repo rev: ...": the first number in it. */
static int major_version(const char* version) {
  const size_t before = strcspn(version, "0123456789");
  return atoi(version + before);
}

const char* load_pmix(struct pmix_library* library) {
  /* All its symbols, and for others too: its plugins look for them. */
  void* const handle = dlopen(kName, RTLD_NOW | RTLD_GLOBAL);
  if (handle == NULL) {
    return dlerror();
  }
  memset(library, 0, sizeof *library);
  if (!find_all(handle, library)) {
    return dlerror();
  }
  const char* const version = library->get_version();
  if (major_version(version) < 3) {
    snprintf(refusal, sizeof refusal, "%s is older than version 3", version);
    return refusal;
  }
  /* A function of the library since 4.2, and of its inside before. */
  if (!find(handle, "PMIx_Value_load", &library->value_load)) {
    find(handle, "pmix_value_load", &library->value_load);
  }
  return NULL;
}
