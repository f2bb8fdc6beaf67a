// Reads the start method of MPI ranks and the options for mpirun.
#include "modes/mpi_request.hpp"

#include "options/syntax.hpp"
#include "platforms/given_hosts.hpp"

#include <array>

namespace muster {
namespace {

struct StartMethod {
  MpiStart start;
  const char* name;
  const char* template_name;
};

constexpr auto kMethods = std::to_array<StartMethod>({
    {MpiStart::Auto, "auto", "mpirun"},
    {MpiStart::Pmix, "pmix", "mpirun"},
    {MpiStart::Agent, "agent", "mpirun-agent"},
    {MpiStart::Ssh, "ssh", "mpirun-ssh"},
});

const StartMethod& method_of(MpiStart start) {
  return kMethods.at(static_cast<std::size_t>(start));
}

Result<> read_start(MpiRequest& request, const Settings& settings) {
  const auto given = settings.find("mpi-start");
  if (!given) {
    return {};
  }
  constexpr auto kRead =
      read_word<"auto, pmix, agent or ssh", MpiStart::Auto, MpiStart::Pmix, MpiStart::Agent, MpiStart::Ssh>;
  request.start = {TRY(kRead(*given)), given->source};
  return {};
}

Result<> add_words(std::vector<std::string>& words, const Sourced<std::string>& text) {
  const auto read = TRY(split_words(text));
  words.insert(words.end(), read.begin(), read.end());
  return {};
}

/// Reads the parts of a translated mpirun command line.
Result<> read_translated(MpiRequest& request, const Settings& settings) {
  request.mpirun.processes = settings.find(kMpirunProcesses).value_or(Sourced<std::string>{}).value;
  request.mpirun.sets_places = settings.has(kDealtByMpirun);
  request.mpirun.only_mpirun = settings.find(kOnlyMpirun).value_or(Sourced<std::string>{});
  const auto programs = settings.find(kMpirunPrograms);
  return programs ? add_words(request.mpirun.programs, *programs) : Result<>();
}

/// Appends the words of a translated command line, then those of --mpirun-options.
Result<> read_words(MpiRequest& request, const Settings& settings) {
  if (const auto words = settings.find(kMpirunWords)) {
    TRY(add_words(request.mpirun.options, *words));
  }
  const auto given = settings.find("mpirun-options");
  if (!given || given->value.empty()) {
    return {};
  }
  request.mpirun.only_mpirun = request.mpirun.only_mpirun.value.empty()
                                   ? Sourced<std::string>{given->source.name, given->source}
                                   : request.mpirun.only_mpirun;
  return add_words(request.mpirun.options, *given);
}

/// Passes names only: mpirun takes the values from its own environment, and MCA parameters without being told.
Result<> add_exported(MpiRequest& request, const Settings& settings) {
  const std::string_view prefix = kExportPrefix;
  for (const auto& [setting, value] : settings.starting_with(prefix)) {
    const std::string name = setting.substr(prefix.size());
    if (!name.starts_with("OMPI_MCA_") && !name.starts_with("PMIX_MCA_")) {
      request.mpirun.options.insert(request.mpirun.options.end(), {"-x", name});
    }
  }
  return {};
}

/// Finds an option that needs ranks started by muster: it sets no arguments, devices or places of mpirun's ranks.
Result<> find_only_pmix(MpiRequest& request, const Settings& settings) {
  for (const char* const name : {"fill-arguments", "virtual-local-rank", "local-ranks-filter"}) {
    const auto given = settings.find(name);
    if (given && given->value != "0" && given->value != "false") {
      request.only_pmix = {given->source.name, given->source};
    }
  }
  return {};
}

}  // namespace

Result<> check_method(const MpiRequest& request) {
  const std::string mpirun = request.mpirun.only_mpirun.value;
  const std::string pmix = request.only_pmix.value;
  const MpiStart start = request.start.value;
  if (!mpirun.empty() && !pmix.empty()) {
    return Error{ErrorKind::BadUsage, "only mpirun understands " + mpirun + ", and " + pmix +
                                          " is for ranks that muster starts itself: leave one of them out"};
  }
  const Sourced<std::string> given{name_of(start), request.start.source};
  if (start == MpiStart::Pmix && !mpirun.empty()) {
    return wrong_value(given, "agent or ssh, because only mpirun understands " + mpirun);
  }
  const bool is_by_mpirun = start == MpiStart::Agent || start == MpiStart::Ssh;
  return is_by_mpirun && !pmix.empty()
             ? wrong_value(given, "pmix, because " + pmix + " is for ranks that muster starts itself")
             : Result<>();
}

const char* name_of(MpiStart start) {
  return method_of(start).name;
}

std::vector<MpiStart> methods_of(const MpiRequest& request) {
  if (request.start.value != MpiStart::Auto) {
    return {request.start.value};
  }
  std::vector<MpiStart> methods{MpiStart::Pmix, MpiStart::Agent, MpiStart::Ssh};
  if (!request.mpirun.only_mpirun.value.empty()) {
    methods.erase(methods.begin());
  }
  if (!request.only_pmix.value.empty()) {
    methods = {MpiStart::Pmix};
  }
  return methods;
}

const char* template_of(MpiStart method) {
  return method_of(method).template_name;
}

Result<MpiRequest> read_mpi_request(const Settings& settings) {
  MpiRequest request;
  for (const auto read : {read_start, read_translated, read_words, add_exported, find_only_pmix}) {
    TRY(read(request, settings));
  }
  return request;
}

Result<> check_no_mpi(const MpiRequest& request, const std::string& mode) {
  for (const Source& source : {request.start.source, request.mpirun.only_mpirun.source}) {
    if (mode != kMpiMode && source.kind == SourceKind::Flag) {
      return Error{ErrorKind::BadUsage, source.name + " is for ranks of MPI, but the mode is '" + mode +
                                            "'; add --mode mpirun, or leave it out"};
    }
  }
  return {};
}

}  // namespace muster
