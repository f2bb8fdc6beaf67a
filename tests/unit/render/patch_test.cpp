// The user's patch in a pod.
#include "render/patch.hpp"

#include "base/yaml.hpp"

#include <gtest/gtest.h>

namespace muster::render {
namespace {

constexpr const char* kPod = R"(metadata:
  labels:
    app: "train"
spec:
  restartPolicy: Never # a comment
  hostNetwork: false
  containers:
    - name: pytorch
      image: i
      env:
        - name: A
          value: "1"
      volumeMounts:
        - name: a
          mountPath: /a
      args: ["x", "0755"]
)";

std::string patched(const char* patch) {
  const auto pod = patched_pod(kPod, patch, "my.yaml", "pytorch", {});
  return pod ? json::serialize(parse_yaml(*pod, "pod", Scalars::Typed)->root.at("spec")) : pod.error().message;
}

TEST(PatchedPod, MergesMapsAndTakesAwayWhatIsNull) {
  EXPECT_EQ(
      patched("spec: {hostNetwork: true, restartPolicy: null, priority: 5, runtimeClassName: 'nvidia'}").substr(0, 20),
      R"({"hostNetwork":true,)");
  EXPECT_EQ(patched("spec: {containers: [], restartPolicy: ~}").substr(0, 36),
            R"({"hostNetwork":false,"containers":[{)");
}

TEST(PatchedPod, MergesNamedThingsByTheirNamesAndReplacesOtherLists) {
  EXPECT_EQ(
      patched(
          "spec:\n  containers:\n    - name: muster\n      args: [y]\n      env: [{name: B, value: \"2\"}, {name: A, "
          "value: \"3\"}]\n    - name: sidecar\n      image: s\n"),
      R"({"restartPolicy":"Never","hostNetwork":false,"containers":[{"name":"pytorch","image":"i","env":[{"name":"A","value":"3"},)"
      R"({"name":"B","value":"2"}],"volumeMounts":[{"name":"a","mountPath":"/a"}],"args":["y"]},{"name":"sidecar","image":"s"}]})");
}

TEST(PatchedPod, LeavesAVariableOneSourceOfItsValue) {
  const std::string from = patched("spec: {containers: [{name: muster, env: [{name: A, valueFrom: {fieldRef: b}}]}]}");
  EXPECT_NE(from.find(R"("env":[{"name":"A","valueFrom":{"fieldRef":"b"}}])"), std::string::npos) << from;
}

TEST(PatchedPod, TellsMountsOfOneVolumeByTheirPaths) {
  EXPECT_NE(patched("spec: {containers: [{name: muster, volumeMounts: [{name: a, mountPath: /b}]}]}")
                .find(R"([{"name":"a","mountPath":"/a"},{"name":"a","mountPath":"/b"}])"),
            std::string::npos);
}

TEST(PatchedPod, AddsTolerationsEvenOfTheSameTaint) {
  const auto pod = patched_pod("spec: {tolerations: [{key: a, operator: Exists}]}",
                               "spec: {tolerations: [{key: b, operator: Exists}, {key: a, effect: NoExecute}]}",
                               "my.yaml", "muster", {});
  ASSERT_TRUE(pod);
  EXPECT_EQ(json::serialize(parse_yaml(*pod, "pod", Scalars::Typed)->root.at("spec").at("tolerations")),
            R"([{"key":"a","operator":"Exists"},{"key":"b","operator":"Exists"},{"key":"a","effect":"NoExecute"}])");
}

TEST(PatchedPod, RefusesAPatchThatWasMeantForAnotherPlace) {
  EXPECT_EQ(patched("spec: {containers: [{name: trainer, workingDir: /a}]}"),
            "my.yaml: the container 'trainer' has no image; the one of the job is named 'muster' in a patch");
  EXPECT_EQ(patched("spec: {template: {spec: {hostNetwork: true}}}"),
            "my.yaml: its 'spec' has a 'template', expected 'metadata' or 'spec' of a pod at its root");
}

TEST(PatchedPod, KeepsTheTypesOfBoth) {
  const auto pod = patched_pod(kPod, "spec: {volumes: [{name: s, secret: {defaultMode: 0644}}], a: '5', b: yes}",
                               "my.yaml", "pytorch", {});
  ASSERT_TRUE(pod);
  const json::value spec = parse_yaml(*pod, "pod", Scalars::Typed)->root.at("spec");
  EXPECT_EQ(spec.at_pointer("/volumes/0/secret/defaultMode"), 420);
  EXPECT_EQ(spec.at("a"), "5");
  EXPECT_EQ(spec.at("b"), "yes");
  EXPECT_EQ(spec.at_pointer("/containers/0/args/1"), "0755");
}

TEST(PatchedPod, NamesTheFileAndWhatIsWrongInIt) {
  EXPECT_EQ(patched("containers: []"),
            "my.yaml: it has 'containers', expected 'metadata' or 'spec' of a pod at its root");
  EXPECT_EQ(patched("- a"), "my.yaml: it holds no map, expected 'metadata' or 'spec' of a pod at its root");
  EXPECT_EQ(patched("spec: 5"), "my.yaml: its 'spec' is no map, expected 'metadata' or 'spec' of a pod at its root");
  EXPECT_EQ(patched("spec: {a: [}").substr(0, 10), "my.yaml:1:");
}

}  // namespace
}  // namespace muster::render
