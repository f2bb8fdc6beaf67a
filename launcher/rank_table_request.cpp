// Reads where the rank table is, or that the nodes make one.
#include "requests.hpp"

namespace muster {
namespace {

constexpr const char* kParameter = "rank_table_file";
constexpr const char* kExpected = "a file such as /etc/hccn.conf that can be read";

/// The file that is named, else the driver's if it is here.
Result<> read_addresses(rank_table::GenerateRequest& request,
                        const Settings& settings,
                        const Snapshot& snapshot) {
  const auto setting = settings.find("hccn-conf");
  const std::string path = setting ? setting->value : rank_table::kHccnFile;
  if (const auto known = snapshot.files.find(path); known != snapshot.files.end()) {
    request.text = known->second;
  } else if (!setting) {
    return {};
  } else if (auto text = read_given_file(*setting, kExpected); text) {
    request.text = std::move(*text);
  } else {
    return text.error();
  }
  request.file = setting.value_or(Sourced<std::string>{path, {SourceKind::File, path}});
  return {};
}

}  // namespace

Result<> read_rank_table(Options& options, const Settings& settings, const Snapshot& snapshot) {
  const auto setting = settings.find("rank-table");
  if (setting && setting->value.empty()) {
    return wrong_value(*setting, "a file, a folder, or generate");
  }
  if (setting && setting->value == "generate") {
    options.job.generates.wanted = setting->source;
  } else if (setting) {
    options.mode.parameters.insert_or_assign(kParameter, *setting);
  }
  return read_addresses(options.job.generates, settings, snapshot);
}

}  // namespace muster
