// The strict reader of templates: each error names the file, the line and the field.
#include "modes/read_template.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster {
namespace {

Result<ModeTemplate> read(const std::string& text) {
  const auto document = parse_yaml(text, "own.yaml");
  return document ? read_template(*document, "own.yaml") : document.error();
}

std::string error_of(const std::string& text) {
  const auto mode = read(text);
  EXPECT_FALSE(mode) << "no error for:\n" << text;
  if (mode) {
    return "";
  }
  EXPECT_EQ(mode.error().kind, ErrorKind::BadData);
  return mode.error().message;
}

constexpr const char* kWhole = R"(mode: own
roles:
  - name: worker
    count: per device
    decides_success: true
    environment:
      RANK: "{global_rank}"
      TEXT: "{{not a placeholder}}"
    environment_unless_set:
      OMP_NUM_THREADS: "{cores_per_worker}"
    unset:
      - OLD
    arguments:
      - "--rank={global_rank}"
  - name: helper
    count: per node
    decides_success: false
  - name: chief
    count: per job
files:
  - path: "{run_dir}/table.json"
    mode: "0600"
    content: "{{\"nodes\": {nodes}}}"
)";

TEST(ReadTemplate, ReadsEveryField) {
  const auto mode = read(kWhole);

  ASSERT_TRUE(mode) << mode.error().message;
  EXPECT_EQ(mode->name, "own");
  ASSERT_EQ(mode->roles.size(), 3U);
  const RoleTemplate& worker = mode->roles[0];
  EXPECT_EQ(worker.name, "worker");
  EXPECT_EQ(worker.count, RoleCount::PerDevice);
  EXPECT_TRUE(worker.decides_success);
  EXPECT_EQ(worker.environment, (NamedTexts{{"RANK", "{global_rank}"}, {"TEXT", "{{not a placeholder}}"}}));
  EXPECT_EQ(worker.environment_unless_set, (NamedTexts{{"OMP_NUM_THREADS", "{cores_per_worker}"}}));
  EXPECT_EQ(worker.unset, std::vector<std::string>{"OLD"});
  EXPECT_EQ(worker.arguments, std::vector<std::string>{"--rank={global_rank}"});
  EXPECT_EQ(mode->roles[1].count, RoleCount::PerNode);
  EXPECT_FALSE(mode->roles[1].decides_success);
  EXPECT_EQ(mode->roles[2].count, RoleCount::PerJob);
  ASSERT_EQ(mode->files.size(), 1U);
  EXPECT_EQ(mode->files[0].path, "{run_dir}/table.json");
  EXPECT_EQ(mode->files[0].mode, "0600");
}

TEST(ReadTemplate, NeedsOnlyANameAndARole) {
  const auto mode = read("mode: own\nroles:\n  - name: worker\n");

  ASSERT_TRUE(mode) << mode.error().message;
  EXPECT_EQ(mode->roles[0].count, RoleCount::PerDevice);
  EXPECT_TRUE(mode->roles[0].decides_success);
  EXPECT_TRUE(mode->files.empty());
}

// Required keys of a template

TEST(ReadTemplate, RefusesAnInvalidTemplate) {
  for (const std::string text : {"", "just text\n", "- a\n- b\n", "7\n", "~\n"}) {
    EXPECT_NE(error_of(text).find("the template must have the fields mode and roles"), std::string::npos) << text;
  }
}

TEST(ReadTemplate, NeedsAModeAndARoleThatDecides) {
  EXPECT_EQ(error_of("roles:\n  - name: worker\n"), "own.yaml: /mode is missing or empty; it is the mode's name");
  EXPECT_EQ(error_of("mode: \"\"\nroles:\n  - name: worker\n"),
            "own.yaml:1: /mode is missing or empty; it is the mode's name");
  const std::string no_roles = "/roles is missing or empty; a mode starts at least one kind of process";
  EXPECT_EQ(error_of("mode: own\n"), "own.yaml: " + no_roles);
  EXPECT_EQ(error_of("mode: own\nroles: []\n"), "own.yaml:2: " + no_roles);
  for (const std::string decides : {"false", "without helper"}) {
    EXPECT_EQ(error_of("mode: own\nroles:\n  - name: helper\n    decides_success: " + decides + "\n"),
              "own.yaml:2: /roles has no role that decides success");
  }
}

TEST(ReadTemplate, NeedsARoleNameThatCanBePartOfAFileName) {
  for (const std::string field : {"count: per job", "name: a/b", "name: \"\""}) {
    EXPECT_EQ(error_of("mode: own\nroles:\n  - " + field + "\n"),
              "own.yaml:3: /roles/0 needs a name that can be part of a file's name");
  }
}

TEST(ReadTemplate, NeedsAPathAndAnOctalModeOfAFile) {
  const std::string start = "mode: own\nroles:\n  - name: worker\nfiles:\n  - ";
  const std::string expected = "own.yaml:5: /files/0 needs a path, and a mode such as 0640";
  for (const std::string fields :
       {"content: x", "{path: \"\"}", "{path: a, mode: \"640\"}", "{path: a, mode: \"0888\"}",
        "{path: a, mode: rw-r-----}", "{path: a, mode: \"00640\"}", "{path: a, mode: \"1640\"}"}) {
    EXPECT_EQ(error_of(start + fields + "\n"), expected) << fields;
  }
}

// Unknown fields

TEST(ReadTemplate, RefusesUnknownFieldsAndSuggestsTheNearest) {
  EXPECT_EQ(error_of("mode: own\nrole:\n  - name: worker\n"), "own.yaml:2: /role is unknown; did you mean 'roles'?");
  EXPECT_EQ(error_of("mode: own\nroles:\n  - name: worker\n    enviroment: {A: b}\n"),
            "own.yaml:4: /roles/0/enviroment is unknown; did you mean 'environment'?");
  EXPECT_EQ(error_of("mode: own\nroles:\n  - name: worker\nfiles:\n  - path: a\n    contents: b\n"),
            "own.yaml:6: /files/0/contents is unknown; did you mean 'content'?");
  EXPECT_EQ(error_of("mode: own\nroles:\n  - name: worker\n    restart_policy: never\n"),
            "own.yaml:4: /roles/0/restart_policy is unknown");
}

// Fields of the wrong kind

TEST(ReadTemplate, NamesTheLineAndTheFieldOfAWrongKind) {
  struct Row {
    std::string field;
    std::string message;
  };
  const std::vector<Row> rows = {
      {"count: per gpu", "/count must be 'none', 'per job', 'per node', 'per other node' or 'per device'"},
      {"count: 4", "/count must be 'none', 'per job', 'per node', 'per other node' or 'per device'"},
      {"count: [per job]", "/count must be 'none', 'per job', 'per node', 'per other node' or 'per device'"},
      {"decides_success: yes", "/decides_success must be true or false"},
      {"decides_success: ", "/decides_success must be true or false"},
      {"environment: [A, b]", "/environment must be a list of NAME: value"},
      {"environment: text", "/environment must be a list of NAME: value"},
      {"environment: {A: [b]}", "/environment/A must be text"},
      {"environment: {A: }", "/environment/A must be text"},
      {"environment: {A: {b: c}}", "/environment/A must be text"},
      {"environment: {\"\": b}", "/environment/ is not a valid variable name"},
      {"environment: {A=B: c}", "/environment/A=B is not a valid variable name"},
      {"environment: {\"A\\0B\": c}", "/environment/A?B is not a valid variable name"},
      {"environment: {A: \"b\\0c\"}", "/environment/A must be text without a NUL byte"},
      {"environment_unless_set: text", "/environment_unless_set must be a list of NAME: value"},
      {"unset: {A: b}", "/unset must be a list"},
      {"unset: A", "/unset must be a list"},
      {"unset: [[A]]", "/unset/0 must be text"},
      {"arguments: --rank", "/arguments must be a list"},
      {"arguments: [a, {b: c}]", "/arguments/1 must be text"},
  };
  for (const Row& row : rows) {
    std::string message = error_of("mode: own\nroles:\n  - name: worker\n    " + row.field + "\n");
    std::replace(message.begin(), message.end(), '\0', '?');
    EXPECT_EQ(message, "own.yaml:4: /roles/0" + row.message) << row.field;
  }
  EXPECT_EQ(error_of("mode: [own]\nroles:\n  - name: worker\n"), "own.yaml:1: /mode must be text");
  EXPECT_EQ(error_of("mode: own\nroles: worker\n"), "own.yaml:2: /roles must be a list");
  EXPECT_EQ(error_of("mode: own\nroles:\n  - worker\n"), "own.yaml:3: /roles/0 must have the fields of a role");
  EXPECT_EQ(error_of("mode: own\nroles:\n  - name: worker\nfiles: a\n"), "own.yaml:4: /files must be a list");
  EXPECT_EQ(error_of("mode: own\nroles:\n  - name: worker\nfiles:\n  - a\n"),
            "own.yaml:5: /files/0 must have path, mode and content");
}

// Placeholders

std::string error_of_placeholder(const std::string& text) {
  return error_of("mode: own\nroles:\n  - name: worker\n    arguments:\n      - \"" + text + "\"\n");
}

TEST(ReadTemplate, KnowsItsPlaceholders) {
  for (const std::string& name : placeholder_names()) {
    const auto mode =
        read("mode: own\nroles:\n  - name: worker\n    listens: true\n    arguments: [\"a{" + name + "}b\"]\n");
    EXPECT_TRUE(mode) << mode.error().message;
  }
}

TEST(ReadTemplate, KnowsPlaceholdersThatNameARole) {
  const std::string start = "mode: own\nroles:\n  - name: ps\n    listens: true\n    arguments: [\"";
  EXPECT_TRUE(read(start + "{count:ps}{endpoints:ps}\"]\n"));
  EXPECT_EQ(error_of(start + "{endpoints:sp}\"]\n"),
            "own.yaml:5: /roles/0/arguments/0 uses the unknown placeholder '{endpoints:sp}'; did you "
            "mean '{endpoints:ps}'?");
}

TEST(ReadTemplate, WantsListenersWhereEndpointsAreUsed) {
  const auto with = [](const std::string& argument) {
    return "mode: own\nroles:\n  - name: ps\n    arguments: [\"" + argument + "\"]\n";
  };
  EXPECT_EQ(error_of(with("{endpoint}")), "own.yaml:3: /roles/0 uses {endpoint}, but it has no 'listens: true'");
  EXPECT_EQ(error_of(with("{endpoints:ps}")),
            "own.yaml:3: /roles/0 uses {endpoints:ps}, but that role has no 'listens: true'");
  EXPECT_EQ(error_of(with("{task_config}")),
            "own.yaml:3: /roles/0 uses {task_config}, but not every role has 'listens: true'");
}

TEST(ReadTemplate, RefusesTwoRolesOfOneName) {
  EXPECT_EQ(error_of("mode: own\nroles:\n  - name: a\n  - name: a\n"),
            "own.yaml:4: /roles/1 has the name 'a', as another role has");
}

TEST(ReadTemplate, WantsListenersForFilesAsWell) {
  EXPECT_EQ(error_of("mode: own\nroles:\n  - name: a\nfiles:\n  - path: x\n    content: "
                     "\"{endpoints:a}\"\n"),
            "own.yaml:5: /files/0 uses {endpoints:a}, but that role has no 'listens: true'");
}

TEST(ReadTemplate, ReadsRolesThatDecideWithoutAnother) {
  const std::string roles =
      "mode: own\nroles:\n  - name: chief\n    count: none\n  - name: worker\n"
      "    decides_success: without ";
  const auto mode = read(roles + "chief\n");
  ASSERT_TRUE(mode) << mode.error().message;
  EXPECT_EQ(mode->roles[0].count, RoleCount::None);
  EXPECT_EQ(mode->roles[1].decides_only_without_role, "chief");
  EXPECT_EQ(error_of(roles + "boss\n"),
            "own.yaml:6: /roles/1/decides_success names the role 'boss', which does not exist");
}

TEST(ReadTemplate, ReadsParameters) {
  const auto with = [](const std::string& parameter) {
    return "mode: own\nparameters:\n  - " + parameter + "\nroles:\n  - name: worker\n    arguments: [\"{limit}\"]\n";
  };
  const auto mode = read(with("{name: limit, default: \"5\", integer: true}"));
  ASSERT_TRUE(mode) << mode.error().message;
  EXPECT_EQ(mode->parameters[0].otherwise, "5");
  EXPECT_TRUE(mode->parameters[0].is_integer);
  EXPECT_EQ(error_of(with("{name: limit, default: x, integer: true}")),
            "own.yaml:3: /parameters/0/default must be an integer");
  EXPECT_EQ(error_of(with("{name: limit}\n  - {name: limit}")), "own.yaml:2: /parameters names 'limit' twice");
  EXPECT_EQ(error_of(with("nodes")), "own.yaml:3: /parameters/0 must have a name");
  EXPECT_EQ(error_of(with("{name: nodes}")), "own.yaml:3: /parameters/0/name is a placeholder already");
  EXPECT_EQ(error_of(with("{name: A}")), "own.yaml:3: /parameters/0 needs a name of small letters and underscores");
}

TEST(ReadTemplate, SuggestsTheNearestPlaceholder) {
  const std::string start = "own.yaml:5: /roles/0/arguments/0 uses the unknown placeholder ";
  EXPECT_EQ(error_of_placeholder("{global_rnak}"), start + "'{global_rnak}'; did you mean '{global_rank}'?");
  EXPECT_EQ(error_of_placeholder("{master_addr}"), start + "'{master_addr}'; did you mean '{master_address}'?");
  EXPECT_EQ(error_of_placeholder("{xyz}"), start + "'{xyz}'");
  EXPECT_EQ(error_of_placeholder("{}"), start + "'{}'");
  EXPECT_EQ(error_of_placeholder("{ nodes }"), start + "'{ nodes }'; did you mean '{nodes}'?");
}

TEST(ReadTemplate, RefusesABraceWithoutItsPartner) {
  for (const std::string text : {"{nodes", "nodes}", "{", "}", "{{}", "}}{", "{nodes}}", "{{{nodes}}"}) {
    EXPECT_EQ(error_of_placeholder(text),
              "own.yaml:5: /roles/0/arguments/0 has a brace without its partner; write '{{' for a "
              "brace")
        << text;
  }
}

TEST(ReadTemplate, ChecksThePlaceholdersOfEveryText) {
  const std::string role = "mode: own\nroles:\n  - name: worker\n    ";
  for (const std::string field : {"environment: {A: \"{x}\"}", "environment_unless_set: {A: \"{x}\"}",
                                  "unset: [\"{x}\"]", "arguments: [\"{x}\"]"}) {
    EXPECT_NE(error_of(role + field + "\n").find("unknown placeholder '{x}'"), std::string::npos);
  }
  const std::string file = "mode: own\nroles:\n  - name: worker\nfiles:\n  - ";
  EXPECT_NE(error_of(file + "path: \"{x}\"\n").find("'{x}'"), std::string::npos);
  EXPECT_NE(error_of(file + "path: a\n    content: \"{x}\"\n").find("'{x}'"), std::string::npos);
}

// Texts that YAML itself refuses (more in base/yaml_test.cpp)

TEST(ReadTemplate, RefusesAnchors) {
  EXPECT_EQ(error_of("mode: own\nroles: &r\n  - name: worker\n"), "own.yaml: anchors and aliases are not allowed");
}

TEST(ReadTemplate, RefusesAVariableThatIsSetTwice) {
  EXPECT_EQ(error_of("mode: own\nroles:\n  - name: worker\n    environment:\n      A: b\n      A: c\n"),
            "own.yaml:6: the key 'A' occurs twice");
}

}  // namespace
}  // namespace muster
