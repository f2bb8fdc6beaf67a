// How getaddrinfo(3) finds names in every image, and how long it may take.
#include "environment/name_lookup.hpp"

#include <netinet/in.h>
#include <nss.h>
#include <resolv.h>

namespace muster {

void choose_name_services() {
  static const bool is_chosen = ::__nss_configure_lookup("hosts", "files dns") == 0;
  (void)is_chosen;  // no memory: as the header says
}

/// resolv.conf is read anew here, and not by the look-up itself (RES_NORELOAD), which would forget these settings.
void bound_lookup() {
  if (::res_init() == 0) {
    _res.retrans = 1;
    _res.retry = 1;
    _res.options |= RES_IGNTC | RES_NORELOAD;
  }
}

}  // namespace muster
