// torchrun's --redirects, --tee and --local-ranks-filter.
#include "run/selection.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr Destination kConsole = {.console = true, .file = false};
constexpr Destination kFile = {.console = false, .file = true};
constexpr Destination kBoth = {.console = true, .file = true};
constexpr Destination kNowhere = {.console = false, .file = false};

using Options = std::map<std::string, std::string>;

SelectionOptions settings_of(const Options& options, const std::string& before_name = "--") {
  const auto given = [&](const std::string& name) {
    const auto at = options.find(name);
    const SourceKind kind = before_name == "--" ? SourceKind::Flag : SourceKind::Option;
    return at == options.end() ? std::nullopt
                               : std::optional(Sourced<std::string>{at->second, {kind, before_name + name}});
  };
  return {.redirects = given("redirects"),
          .tee = given("tee"),
          .local_ranks = given("local-ranks-filter"),
          .has_folder = options.contains("log-dir")};
}

Selection read(const Options& options) {
  auto selection = Selection::read(settings_of(options));
  EXPECT_TRUE(selection) << selection.error().message;
  return selection ? *selection : Selection();
}

Destination out(const Selection& selection, int rank) {
  return selection.out(LocalRank{rank});
}
Destination err(const Selection& selection, int rank) {
  return selection.err(LocalRank{rank});
}

TEST(Selection, ShowsEverythingOnTheConsoleByDefault) {
  const Selection selection = read({});

  EXPECT_EQ(out(selection, 0), kConsole);
  EXPECT_EQ(err(selection, 63), kConsole);
  EXPECT_FALSE(selection.needs_files());
}

TEST(Selection, WritesToBothWithALogDirectory) {
  const Selection selection = read({{"log-dir", "logs"}});

  EXPECT_EQ(out(selection, 0), kBoth);
  EXPECT_EQ(err(selection, 63), kBoth);
  EXPECT_TRUE(selection.needs_files());
}

TEST(Selection, TakesEachNumberForAllRanks) {
  struct Row {
    const char* value;
    bool out;
    bool err;
  };
  for (const Row& row : {Row{"0", false, false}, Row{"1", true, false}, Row{"2", false, true}, Row{"3", true, true}}) {
    for (const int rank : {0, 7}) {
      EXPECT_EQ(out(read({{"redirects", row.value}}), rank), row.out ? kFile : kConsole);
      EXPECT_EQ(err(read({{"redirects", row.value}}), rank), row.err ? kFile : kConsole);
      EXPECT_EQ(out(read({{"tee", row.value}}), rank), row.out ? kBoth : kConsole);
      EXPECT_EQ(err(read({{"tee", row.value}}), rank), row.err ? kBoth : kConsole);
    }
    EXPECT_EQ(read({{"redirects", row.value}}).needs_files(), row.out || row.err);
    EXPECT_EQ(read({{"tee", row.value}}).needs_files(), row.out || row.err);
  }
}

TEST(Selection, TakesRanksOfAnyNumberOfDigits) {
  const Selection selection = read({{"redirects", "0:1,11:2,1000:3"}});

  EXPECT_EQ(out(selection, 0), kFile);
  EXPECT_EQ(err(selection, 0), kConsole);
  EXPECT_EQ(out(selection, 11), kConsole);
  EXPECT_EQ(err(selection, 11), kFile);
  EXPECT_EQ(out(selection, 1'000), kFile);
  EXPECT_EQ(err(selection, 1'000), kFile);
  EXPECT_EQ(out(selection, 1), kConsole) << "ranks that are not named are 0";
  EXPECT_TRUE(selection.needs_files());
}

TEST(Selection, NeedsNoFileForUnselectedRanks) {
  EXPECT_FALSE(read({{"redirects", "0:0,1:0"}, {"tee", "0"}}).needs_files());
}

TEST(Selection, TakesAFolderThatIsKnownLater) {
  Selection all = read({});
  all.add_folder();
  EXPECT_EQ(out(all, 0), kBoth);

  Selection chosen = read({{"tee", "0"}});
  chosen.add_folder();
  EXPECT_EQ(out(chosen, 0), kConsole);
}

TEST(Selection, TeesRedirectedStreams) {
  const Selection selection = read({{"redirects", "3"}, {"tee", "0:3"}});

  EXPECT_EQ(out(selection, 0), kBoth);
  EXPECT_EQ(out(selection, 1), kFile);
}

TEST(Selection, KeepsOtherRanksFromTheConsoleAndInTheirFiles) {
  const Selection filtered = read({{"local-ranks-filter", "0,3"}});
  EXPECT_EQ(out(filtered, 0), kConsole);
  EXPECT_EQ(out(filtered, 1), kNowhere);
  EXPECT_EQ(err(filtered, 3), kConsole);

  const Selection with_files = read({{"local-ranks-filter", "0"}, {"log-dir", "logs"}});
  EXPECT_EQ(out(with_files, 0), kBoth);
  EXPECT_EQ(out(with_files, 1), kFile);
}

TEST(Selection, TakesAnEmptyFilterForNone) {
  EXPECT_EQ(out(read({{"local-ranks-filter", ""}}), 5), kConsole);
}

TEST(Selection, LetsAnOptionBeatTheLogDirectorysDefault) {
  const Selection selection = read({{"log-dir", "logs"}, {"redirects", "1"}});

  EXPECT_EQ(out(selection, 0), kFile);
  EXPECT_EQ(err(selection, 0), kConsole);
}

TEST(Selection, RefusesAnInvalidChoice) {
  for (const std::string option : {"redirects", "tee"}) {
    for (const std::string text : {"", "4", "-1", "x", "01", "0:", ":1", "0:4", "0:1,", ",0:1", "0:1,0:2", "0:1 1:2",
                                   "0:1, 1:2", "0=1", "a:1", "-1:1", "0:1:2", "1,2"}) {
      const auto selection = Selection::read(settings_of({{option, text}}));
      ASSERT_FALSE(selection) << option << " " << text;
      EXPECT_EQ(selection.error().kind, ErrorKind::BadUsage);
      EXPECT_EQ(selection.error().message,
                "--" + option + " is '" + text +
                    "', expected 0, 1 (output), 2 (error) or 3 (both), or local ranks with one of "
                    "these, such as 0:1,11:2");
    }
  }
}

TEST(Selection, RefusesAFilterThatIsNoListOfRanks) {
  for (const std::string text : {"x", "0,", ",0", "0,,1", "-1", " 0", "0 1", "0-3", "1.5"}) {
    const auto selection = Selection::read(settings_of({{"local-ranks-filter", text}}));
    ASSERT_FALSE(selection) << text;
    EXPECT_EQ(selection.error().message,
              "--local-ranks-filter is '" + text + "', expected local ranks separated by commas, such as 0,3");
  }
}

TEST(Selection, BlamesTheEnvironmentForItsVariables) {
  for (const std::string option : {"redirects", "tee", "local-ranks-filter"}) {
    const auto selection = Selection::read(settings_of({{option, "x"}}, "MUSTER_"));
    ASSERT_FALSE(selection);
    EXPECT_EQ(selection.error().kind, ErrorKind::BadEnvironment);
  }
}

}  // namespace
}  // namespace muster
