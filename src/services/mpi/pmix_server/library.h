/* Finds and loads the image's PMIx library on demand: versions 3 to 5. */
#ifndef MUSTER_PMIX_SERVER_LIBRARY_H
#define MUSTER_PMIX_SERVER_LIBRARY_H

#include <pmix_server.h>

/* Functions of the library that the server calls. Those at the end are NULL in some versions. */
struct pmix_library {
  const char* (*get_version)(void);
  const char* (*error_string)(pmix_status_t);
  pmix_status_t (*server_init)(pmix_server_module_t*, pmix_info_t[], size_t);
  pmix_status_t (*server_finalize)(void);
  pmix_status_t (*generate_regex)(const char*, char**);
  pmix_status_t (*generate_ppn)(const char*, char**);
  pmix_status_t (*register_nspace)(const pmix_nspace_t, int, pmix_info_t[], size_t, pmix_op_cbfunc_t, void*);
  pmix_status_t (*register_client)(const pmix_proc_t*, uid_t, gid_t, void*, pmix_op_cbfunc_t, void*);
  pmix_status_t (*setup_fork)(const pmix_proc_t*, char***);
  pmix_status_t (*value_load)(pmix_value_t*, const void*, pmix_data_type_t);
};

/* Loads the library. Returns NULL, or the reason why no usable one was found. */
const char* load_pmix(struct pmix_library* library);

#endif
