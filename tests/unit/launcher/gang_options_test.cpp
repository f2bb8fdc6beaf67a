// Options of several nodes, of restarting and of ranks that end early: every value, good and bad.
#include "requests.hpp"

#include <gtest/gtest.h>

#include <map>

namespace muster {
namespace {

using namespace std::chrono_literals;
using Texts = std::map<std::string, std::string>;

Result<gang::GangOptions> options_of(const Texts& flags, const Texts& variables = {}) {
  Settings settings;
  for (const auto& [name, value] : flags) {
    settings.set(name, {value, from_flag("--" + name)});
  }
  Snapshot snapshot;
  snapshot.variables = variables;
  return read_gang_options(settings, snapshot);
}

std::string error_of(const Result<gang::GangOptions>& options) {
  return options ? "no error" : std::to_string(options.error().exit_code()) + ": " + options.error().message;
}

TEST(GangOptions, HaveDefaults) {
  const auto options = options_of({});

  ASSERT_TRUE(options);
  EXPECT_EQ(options->timeout, 900s);
  EXPECT_EQ(options->last_call, 30s);
  EXPECT_EQ(options->heartbeat_timeout, 8s);
  EXPECT_EQ(options->restarts.max_restarts, 0);
  EXPECT_EQ(options->restarts.window, std::nullopt);
  EXPECT_EQ(options->restarts.backoff, 1s);
  EXPECT_EQ(options->restarts.no_progress_limit, 3);
  EXPECT_EQ(options->restarts.progress_file, "");
  EXPECT_EQ(options->scale_up, gang::ScaleUp::AtRestart);
  EXPECT_EQ(options->on_early_exit, gang::OnEarlyExit::Wait);
  EXPECT_EQ(options->early_exit_timeout, std::nullopt);
  EXPECT_EQ(options->token_file, "");
  EXPECT_EQ(options->token, "");
}

TEST(GangOptions, AreReadFromFlags) {
  const auto options = options_of({{"gang-timeout", "60"},
                                   {"last-call", "0"},
                                   {"heartbeat-timeout", "1"},
                                   {"max-restarts", "4"},
                                   {"restart-window", "0.5"},
                                   {"restart-backoff", "0"},
                                   {"no-progress-limit", "0"},
                                   {"progress-file", "step"},
                                   {"scale-up", "now"},
                                   {"on-early-exit", "wait"},
                                   {"early-exit-timeout", "0.5"},
                                   {"token-file", "secret"}});

  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->timeout, 60s);
  EXPECT_EQ(options->last_call, 0s);
  EXPECT_EQ(options->heartbeat_timeout, 1s);
  EXPECT_EQ(options->restarts.max_restarts, 4);
  EXPECT_EQ(options->restarts.window, 500ms);
  EXPECT_EQ(options->restarts.backoff, 0s);
  EXPECT_EQ(options->restarts.no_progress_limit, 0);
  EXPECT_EQ(options->restarts.progress_file, "step");
  EXPECT_EQ(options->scale_up, gang::ScaleUp::Now);
  EXPECT_EQ(options->on_early_exit, gang::OnEarlyExit::Wait);
  EXPECT_EQ(options->early_exit_timeout, 500ms);
  EXPECT_EQ(options->token_file, "secret");
}

TEST(GangOptions, ReadWhatFollowsAnEarlyExit) {
  const auto options = options_of({{"on-early-exit", "fail"}});
  EXPECT_EQ(options->on_early_exit, gang::OnEarlyExit::Fail);
  EXPECT_EQ(options->early_exit_timeout, std::nullopt) << "the leader knows how long then";

  EXPECT_EQ(options_of({{"on-early-exit", "fail"}, {"early-exit-timeout", "3"}})->early_exit_timeout, 3s);
}

TEST(GangOptions, TakeTorchrunsRestarts) {
  EXPECT_EQ(options_of({}, {{"PET_MAX_RESTARTS", "5"}})->restarts.max_restarts, 5);
  EXPECT_EQ(options_of({{"max-restarts", "1"}}, {{"PET_MAX_RESTARTS", "5"}})->restarts.max_restarts, 1);
  EXPECT_EQ(error_of(options_of({}, {{"PET_MAX_RESTARTS", "x"}})),
            "78: PET_MAX_RESTARTS is 'x', expected a number of restarts from 0 to 1000000");
}

// Every bad value

struct BadValues {
  std::string option;
  std::string expected;
  std::vector<std::string> texts;
};

const std::vector<BadValues>& bad_values() {
  static const std::vector<std::string> no_numbers = {"", "x", "-1", "+1", " 1", "1 ", "nan"};
  static const std::vector<BadValues> kValues = [] {
    std::vector<BadValues> values = {
        {"gang-timeout", "seconds above 0", {"0", "0.0001"}},
        {"last-call", "seconds such as 30 or 0.5", {}},
        {"heartbeat-timeout", "seconds from 1 to 3600", {"0", "0.9", "3600.1", "3601"}},
        {"max-restarts", "a number of restarts from 0 to 1000000", {"1000001", "1.5", "01"}},
        {"restart-window", "seconds above 0", {"0"}},
        {"restart-backoff", "seconds such as 30 or 0.5", {}},
        {"no-progress-limit", "a number of attempts from 0 to 1000000", {"1000001", "1.5", "01"}},
        {"early-exit-timeout", "seconds above 0", {"0"}},
        {"scale-up", "restart or now", {"NOW", "later"}},
        {"on-early-exit", "wait or fail", {"WAIT", "kill"}},
    };
    for (BadValues& value : values) {
      value.texts.insert(value.texts.end(), no_numbers.begin(), no_numbers.end());
    }
    values.push_back({"progress-file", "a file", {""}});
    values.push_back({"token-file", "a file", {""}});
    return values;
  }();
  return kValues;
}

TEST(GangOptions, RefuseEachBadValueOfEachFlag) {
  for (const BadValues& bad : bad_values()) {
    for (const std::string& text : bad.texts) {
      EXPECT_EQ(error_of(options_of({{bad.option, text}})),
                "64: --" + bad.option + " is '" + text + "', expected " + bad.expected);
    }
  }
}

TEST(GangOptions, BlameTheEnvironmentForEachBadValueOfAVariable) {
  for (const BadValues& bad : bad_values()) {
    for (const std::string& text : bad.texts) {
      Settings settings;
      settings.set(bad.option, {text, from_option("MUSTER_X")});
      EXPECT_EQ(error_of(read_gang_options(settings, {})), "78: MUSTER_X is '" + text + "', expected " + bad.expected);
    }
  }
}

// Pairs of options

TEST(GangOptions, RefuseToStopWorkersForANodeThatMayBeUnfit) {
  EXPECT_EQ(error_of(options_of({{"scale-up", "now"}, {"preflight", "strict"}})),
            "64: --scale-up is 'now' but --preflight is 'strict': each unfit node that comes would stop the running "
            "workers; leave --scale-up out");
  EXPECT_TRUE(options_of({{"scale-up", "restart"}, {"preflight", "strict"}}));
  EXPECT_TRUE(options_of({{"scale-up", "now"}, {"preflight", "auto"}}));
}

TEST(GangOptions, ReadWhatIsComparedAndWhatFollows) {
  using gang::ComparesNodes;
  const auto read = [](const char* words) { return options_of({{"preflight", words}})->preflight; };
  EXPECT_EQ(read("auto"), (gang::PreflightChoice{ComparesNodes::Auto, false}));
  EXPECT_EQ(read("full"), (gang::PreflightChoice{ComparesNodes::Auto, true}));
  EXPECT_EQ(read("strict"), (gang::PreflightChoice{ComparesNodes::Strictly, false}));
  EXPECT_EQ(read("full,strict"), (gang::PreflightChoice{ComparesNodes::Strictly, true}));
  EXPECT_EQ(read("strict,full"), (gang::PreflightChoice{ComparesNodes::Strictly, true}));
  EXPECT_EQ(read("links"), (gang::PreflightChoice{ComparesNodes::Auto, false, true}));
  EXPECT_EQ(read("links,full,strict"), (gang::PreflightChoice{ComparesNodes::Strictly, true, true}));
  EXPECT_EQ(read("off"), (gang::PreflightChoice{ComparesNodes::Never, false}));
  for (const char* const words : {"", "full,off", "full,full", "full,", "x", "auto,full", "links,auto", "off,off"}) {
    EXPECT_EQ(error_of(options_of({{"preflight", words}})),
              "64: --preflight is '" + std::string(words) +
                  "', expected auto, off, or strict, full and links, joined by commas");
  }
}

// The token

TEST(GangOptions, TakeTheTokenFromItsVariable) {
  EXPECT_EQ(options_of({}, {{"MUSTER_TOKEN", "a secret"}})->token, "a secret");
  EXPECT_EQ(error_of(options_of({}, {{"MUSTER_TOKEN", ""}})), "78: MUSTER_TOKEN is '', expected the token of the job");
}

TEST(GangOptions, RefuseTwoTokensWithoutShowingOne) {
  EXPECT_EQ(error_of(options_of({{"token-file", "f"}}, {{"MUSTER_TOKEN", "a secret"}})),
            "64: MUSTER_TOKEN is set but --token-file is 'f': both give the job's token");
}

}  // namespace
}  // namespace muster
