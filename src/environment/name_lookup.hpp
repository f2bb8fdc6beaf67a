#pragma once

namespace muster {

/// Which of its services the C library asks for the addresses of names. A static one would load those that the image's nsswitch.conf
/// names from that image. /etc/hosts and DNS are in it, and are what images have in common.
void choose_name_services();

/// For the calling thread's next look-up: one second for each name server, one try, no TCP, whose connecting has no limit.
void bound_lookup();

}  // namespace muster
