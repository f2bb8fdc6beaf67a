// Inheritance of templates: keys of the parent, and keys common to all roles. An error names the line of the value.
#include "modes/read_template.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TemplateDocument document(const std::string& text, const std::string& name) {
  const auto read = parse_yaml(text, name);
  EXPECT_TRUE(read) << read.error().message;
  return {*read, name};
}

const std::string kBase = R"(mode: base
parameters:
  - name: tag
    default: first
  - name: old
roles:
  - name: worker
    environment:
      RANK: "{global_rank}"
      TAG: "{tag}"
      OLD: "{old}"
    environment_if_given:
      IF_GIVEN: "{old}"
    unset: [A]
  - name: helper
    decides_success: false
)";

Result<ModeTemplate> expand(const std::string& text) {
  const Templates known = {{"base", document(kBase, "base.yaml")},
                           {"one", document("mode: one\ninherits: two\n", "one.yaml")},
                           {"two", document("mode: two\ninherits: one\n", "two.yaml")}};
  const auto expanded = expand_template(document(text, "own.yaml"), known);
  return expanded ? read_template(*expanded, "own.yaml") : expanded.error();
}

std::string expand_error(const std::string& text) {
  const auto mode = expand(text);
  EXPECT_FALSE(mode) << "no error for:\n" << text;
  return mode ? "" : mode.error().message;
}

TEST(ExpandTemplate, TakesOverWhatItDoesNotSayItself) {
  const auto mode = expand("mode: own\ninherits: base\n");

  ASSERT_TRUE(mode) << mode.error().message;
  EXPECT_EQ(mode->name, "own");
  ASSERT_EQ(mode->roles.size(), 2U);
  EXPECT_EQ(mode->roles[0].environment.size(), 3U);
  EXPECT_FALSE(mode->roles[1].decides_success);
}

TEST(ExpandTemplate, ReplacesSingleVariablesAndAddsToLists) {
  const auto mode = expand(R"(mode: own
inherits: base
parameters:
  - name: tag
    default: second
roles:
  - name: worker
    environment:
      RANK: "{role_rank}"
      MORE: "1"
    unset: [B]
  - name: third
)");

  ASSERT_TRUE(mode) << mode.error().message;
  ASSERT_EQ(mode->parameters.size(), 2U);
  EXPECT_EQ(mode->parameters[0].otherwise, "second");
  ASSERT_EQ(mode->roles.size(), 3U);
  EXPECT_EQ(mode->roles[0].environment,
            (NamedTexts{{"RANK", "{role_rank}"}, {"TAG", "{tag}"}, {"OLD", "{old}"}, {"MORE", "1"}}));
  EXPECT_EQ(mode->roles[0].unset, (std::vector<std::string>{"A", "B"}));
  EXPECT_EQ(mode->roles[2].name, "third");
}

TEST(ExpandTemplate, TakesAwayParametersAndVariables) {
  const auto mode = expand("mode: own\ninherits: base\nwithout: [old, OLD, A, IF_GIVEN]\n");

  ASSERT_TRUE(mode) << mode.error().message;
  EXPECT_EQ(mode->parameters.size(), 1U);
  EXPECT_EQ(mode->roles[0].environment.size(), 2U);
  EXPECT_TRUE(mode->roles[0].unset.empty());
}

TEST(ExpandTemplate, GivesToAllRolesWhatTheyHaveInCommon) {
  const auto mode = expand(R"(mode: own
inherits: base
common:
  label: "{role}"
  environment:
    TAG: common
  arguments: [--first]
roles:
  - name: helper
    label: mine
    arguments: [--second]
  - name: third
)");

  ASSERT_TRUE(mode) << mode.error().message;
  EXPECT_EQ(mode->roles[0].label, "{role}");
  EXPECT_EQ(mode->roles[0].environment[1].second, "common");
  EXPECT_EQ(mode->roles[1].label, "mine");
  EXPECT_EQ(mode->roles[1].arguments, (std::vector<std::string>{"--first", "--second"}));
  EXPECT_EQ(mode->roles[2].arguments, std::vector<std::string>{"--first"});
}

TEST(ExpandTemplate, RefusesAParentThatThereIsNot) {
  EXPECT_EQ(expand_error("mode: own\ninherits: bace\n"),
            "own.yaml:2: /inherits is 'bace', expected one of base, one, two; did you mean 'base'?");
  EXPECT_EQ(expand_error("mode: own\ninherits: [base]\n"), "own.yaml:2: /inherits must be text");
}

TEST(ExpandTemplate, RefusesACircle) {
  EXPECT_EQ(expand_error("mode: own\ninherits: one\n"), "two.yaml:2: /inherits is 'one', which inherits from this one");
}

TEST(ExpandTemplate, RefusesToRemoveAnAbsentKey) {
  EXPECT_EQ(expand_error("mode: own\ninherits: base\nwithout:\n  - old\n  - NEW\n"),
            "own.yaml:5: /without/1 is 'NEW', expected a parameter or a variable of 'base'");
  EXPECT_EQ(expand_error("mode: own\nwithout: [old]\nroles:\n  - name: worker\n"),
            "own.yaml:2: /without takes away from nothing: there is no 'inherits'");
}

TEST(ExpandTemplate, RefusesFieldsThatNoRoleCanShare) {
  EXPECT_EQ(expand_error("mode: own\ncommon:\n  name: worker\nroles:\n  - count: per node\n"),
            "own.yaml:2: /common must have fields of a role, but no name");
  EXPECT_EQ(expand_error("mode: own\ncommon: text\nroles:\n  - name: worker\n"),
            "own.yaml:2: /common must have fields of a role, but no name");
  EXPECT_EQ(expand_error("mode: own\ninherit: base\n"), "own.yaml:2: /inherit is unknown; did you mean 'inherits'?");
}

TEST(ExpandTemplate, KeepsTheLineNumbersOfErrors) {
  EXPECT_EQ(expand_error("mode: own\ncommon:\n  label: \"{rolle}\"\nroles:\n  - name: worker\n"),
            "own.yaml:3: /roles/0/label uses the unknown placeholder '{rolle}'; did you mean '{role}'?");
  EXPECT_EQ(expand_error("mode: own\ninherits: base\nroles:\n  - name: helper\n    counts: none\n"),
            "own.yaml:5: /roles/1/counts is unknown; did you mean 'count'?");
  EXPECT_EQ(expand_error("mode: own\nroles:\n  - name: mpirun\n    unranked: true\n"),
            "own.yaml:4: /roles/0/unranked needs a 'label', by which its processes are called");
  EXPECT_EQ(expand_error("mode: own\ninherits: base\nroles: worker\n"), "own.yaml:3: /roles must be a list");
  EXPECT_EQ(expand_error("mode: own\nroles:\n  - name: worker\n  - name: worker\n"),
            "own.yaml:4: /roles/1 has the name 'worker', as another role has");
}

TEST(ExpandTemplate, BuildsOnThoseThatAreBuiltIn) {
  const auto expanded = expand_template(
      document("mode: own\ninherits: torchrun\nroles:\n  - name: worker\n    label: mine\n", "own.yaml"),
      builtin_documents());

  ASSERT_TRUE(expanded) << expanded.error().message;
  const auto mode = read_template(*expanded, "own.yaml");
  ASSERT_TRUE(mode) << mode.error().message;
  EXPECT_EQ(mode->roles[0].label, "mine");
  EXPECT_FALSE(mode->roles[0].error_file.empty());
}

}  // namespace
}  // namespace muster
