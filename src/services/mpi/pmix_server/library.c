#include "library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The library's soname since version 2, and that of Open MPI 4.1's own copy, which may contain version 3. */
static const char* const kNames[] = {"libpmix.so.2", "libopen-pal.so.40"};

/* Library directories relative to the `bin` of a program such as mpirun. */
static const char* const kBesidePrograms[] = {"../lib", "../lib64", "../lib/openmpi"};

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

/* Major version from "OpenPMIx 4.2.2, repo rev: ...": the first number in it. */
static int major_version(const char* version) {
  const size_t before = strcspn(version, "0123456789");
  return atoi(version + before);
}

/* Loads all symbols globally, because the library's plugins look for them. NULL: `why` has the reason. */
static void* open_library(const char* path, char* why, size_t size) {
  void* const handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (handle == NULL) {
    snprintf(why, size, "%s", dlerror());
  }
  return handle;
}

/* Tries the library directories beside a `bin` directory. */
static void* open_beside(const char* bin, const char* name) {
  for (size_t i = 0; i < sizeof kBesidePrograms / sizeof *kBesidePrograms; ++i) {
    char path[2 * PATH_MAX];
    char ignored[1];
    snprintf(path, sizeof path, "%s/%s/%s", bin, kBesidePrograms[i], name);
    void* const handle = access(path, R_OK) == 0 ? open_library(path, ignored, sizeof ignored) : NULL;
    if (handle != NULL) {
      return handle;
    }
  }
  return NULL;
}

/* Tries the directories beside each mpirun of PATH, with links resolved. */
static void* open_beside_mpirun(const char* name) {
  const char* const folders = getenv("PATH");
  for (const char* at = folders; at != NULL && *at != '\0';) {
    const size_t length = strcspn(at, ":");
    char link[PATH_MAX];
    char program[PATH_MAX];
    snprintf(link, sizeof link, "%.*s/mpirun", (int)length, at);
    if (length > 0 && realpath(link, program) != NULL) {
      *strrchr(program, '/') = '\0';
      void* const handle = open_beside(program, name);
      if (handle != NULL) {
        return handle;
      }
    }
    at += length + (at[length] == ':');
  }
  return NULL;
}

/* Finds the library. A separate MPI, such as HPC-X or one of pip or conda, is the one of its mpirun on PATH; else the
 * system's library, or that of LD_LIBRARY_PATH, is used. */
static void* find_library(void) {
  for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i) {
    char why[sizeof refusal] = "libpmix.so.2 has no PMIx_server_init";
    void* handle = open_beside_mpirun(kNames[i]);
    if (handle == NULL) {
      handle = open_library(kNames[i], why, sizeof why);
    }
    if (handle != NULL && dlsym(handle, "PMIx_server_init") != NULL) {
      return handle;
    }
    if (i == 0) {
      memcpy(refusal, why, sizeof refusal); /* report the failure of the usual name */
    }
  }
  return NULL;
}

const char* load_pmix(struct pmix_library* library) {
  void* const handle = find_library();
  if (handle == NULL) {
    return refusal;
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
  /* A public function since 4.2, internal before. */
  if (!find(handle, "PMIx_Value_load", &library->value_load)) {
    find(handle, "pmix_value_load", &library->value_load);
  }
  return NULL;
}
