// The keys of torchrun's --rdzv-conf, for all its backends, and what becomes of each.
#include "compat/front_end.hpp"

#include <array>

namespace muster {
namespace {

// Options that are used with no etcd have one reason.
constexpr const char* kNoEtcd = "muster needs no etcd";

constexpr auto kKeys = std::to_array<CompatOption>({
    {"timeout",
     '\0',
     "SECONDS",
     OptionSupport::Better,
     "How long all nodes are waited for, with c10d too, where join_timeout wins.",
     "gang-timeout"},
    {"join_timeout",
     '\0',
     "SECONDS",
     OptionSupport::Better,
     "The same, with static too, where timeout wins.",
     "gang-timeout"},
    {"last_call_timeout",
     '\0',
     "SECONDS",
     OptionSupport::Same,
     "How long more nodes are waited for once the fewest are here.",
     "last-call"},
    {"keep_alive_interval",
     '\0',
     "SECONDS",
     OptionSupport::Better,
     "Times keep_alive_max_attempt (5 and 3 if not given) it is the silence after which a node is "
     "lost; "
     "the others end at once then.",
     "heartbeat-timeout"},
    {"keep_alive_max_attempt", '\0', "N", OptionSupport::Better, "See above.", "heartbeat-timeout"},
    {"close_timeout", '\0', "SECONDS", OptionSupport::Ignored, "a gang is closed at once"},
    {"heartbeat_timeout",
     '\0',
     "SECONDS",
     OptionSupport::Ignored,
     "a heartbeat is a message and no call that could take long"},
    {"read_timeout",
     '\0',
     "SECONDS",
     OptionSupport::Ignored,
     "a node tries to reach the leader for as long as all nodes are waited for"},
    {"is_host",
     '\0',
     "WHETHER",
     OptionSupport::Same,
     "With c10d, that this node leads where the endpoint leads to it, as a Service's or a "
     "published one does; or "
     "that it never leads. If not given, whoever owns the endpoint's address and port leads.",
     "lead"},
    {"store_type", '\0', "tcp", OptionSupport::Ignored, "the agents meet without a store"},
    {"use_libuv", '\0', "WHETHER", OptionSupport::Ignored, "the agents meet without a store"},
    {"rank", '\0', "R", OptionSupport::Ignored, "torchrun overwrites it by --node-rank"},
    {"protocol", '\0', "NAME", OptionSupport::Ignored, kNoEtcd},
    {"ssl_cert", '\0', "FILE", OptionSupport::Ignored, kNoEtcd},
    {"ssl_cert_key", '\0', "FILE", OptionSupport::Ignored, kNoEtcd},
    {"ca_cert", '\0', "FILE", OptionSupport::Ignored, kNoEtcd},
    {"cert", '\0', "FILE", OptionSupport::Ignored, kNoEtcd},
    {"key", '\0', "FILE", OptionSupport::Ignored, kNoEtcd},
    {"cacert", '\0', "FILE", OptionSupport::Ignored, kNoEtcd},
    {"etcd_prefix", '\0', "PATH", OptionSupport::Ignored, kNoEtcd},
});

}  // namespace

std::span<const CompatOption> rendezvous_keys() {
  return kKeys;
}

}  // namespace muster
