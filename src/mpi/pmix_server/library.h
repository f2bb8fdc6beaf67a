/* The PMIx library of the image, loaded when it is needed: versions 3 to 5. The only file that knows how it is found. */
#ifndef MUSTER_PMIX_SERVER_LIBRARY_H
#define MUSTER_PMIX_SERVER_LIBRARY_H

#include <pmix_server.h>

/* What is called of it. Those at the end are not in every version: NULL. */
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

/* Loads it into `library`. Returns NULL, or why there is none that serves. */
const char* load_pmix(struct pmix_library* library);

#endif
