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
      ports: [{name: p, containerPort: 29500}]
      resources: {requests: {cpu: "8"}, limits: {nvidia.com/gpu: "8"}}
  volumes: [{name: a, emptyDir: {}}]
)";

PodPatch my(const char* text) {
  PodPatch patch{text, "my.yaml", "pytorch"};
  patch.device_resource = "nvidia.com/gpu";
  patch.devices = 8;
  return patch;
}

std::string patched(const char* patch) {
  const auto pod = patched_pod(kPod, my(patch));
  return pod ? json::serialize(parse_yaml(*pod, "pod", Scalars::Typed)->root.at("spec")) : pod.error().message;
}

/// Reads a value of the only container in the patched pod.
std::string patched_container(const char* changes, const char* key) {
  const auto pod =
      patched_pod(kPod, my((std::string("spec: {containers: [{name: muster, ") + changes + "}]}").c_str()));
  return pod ? json::serialize(
                   parse_yaml(*pod, "pod", Scalars::Typed)->root.at_pointer(std::string("/spec/containers/0/") + key))
             : pod.error().message;
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
      R"({"name":"B","value":"2"}],"volumeMounts":[{"name":"a","mountPath":"/a"}],"args":["y"],"ports":[{"name":"p","containerPort":29500}],)"
      R"("resources":{"requests":{"cpu":"8"},"limits":{"nvidia.com/gpu":"8"}}},{"name":"sidecar","image":"s"}],"volumes":[{"name":"a","emptyDir":{}}]})");
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
                               my("spec: {tolerations: [{key: b, operator: Exists}, {key: a, effect: NoExecute}]}"));
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
  const auto pod = patched_pod(kPod, my("spec: {volumes: [{name: s, secret: {defaultMode: 0644}}], a: '5', b: yes}"));
  ASSERT_TRUE(pod);
  const json::value spec = parse_yaml(*pod, "pod", Scalars::Typed)->root.at("spec");
  EXPECT_EQ(spec.at_pointer("/volumes/1/secret/defaultMode"), 420);
  EXPECT_EQ(spec.at("a"), "5");
  EXPECT_EQ(spec.at("b"), "yes");
  EXPECT_EQ(spec.at_pointer("/containers/0/args/1"), "0755");
}

TEST(PatchedPod, QuotesWhatKubernetesTakesAsTextAlone) {
  const auto pod =
      patched_pod(kPod, my("metadata: {labels: {a: true}, annotations: {b: 1, c: ~}}\n"
                           "spec:\n"
                           "  nodeSelector: {d: 007}\n"
                           "  priority: 5\n"
                           "  initContainers: [{name: x, image: y, command: [sleep, 1]}]\n"
                           "  containers: [{name: muster, env: [{name: B, value: 0755}, {name: C, value: 1.0}]}]\n"));
  ASSERT_TRUE(pod) << pod.error().message;
  const json::value root = parse_yaml(*pod, "pod", Scalars::Typed)->root;
  EXPECT_EQ(root.at_pointer("/metadata/labels/a"), "true");
  EXPECT_EQ(root.at_pointer("/metadata/annotations/b"), "1");
  EXPECT_FALSE(root.at("metadata").at("annotations").as_object().contains("c"));
  EXPECT_EQ(root.at_pointer("/spec/nodeSelector/d"), "007");
  EXPECT_EQ(root.at_pointer("/spec/priority"), 5);
  EXPECT_EQ(root.at_pointer("/spec/initContainers/0/command/1"), "1");
  EXPECT_EQ(root.at_pointer("/spec/containers/0/env/1/value"), "0755");
  EXPECT_EQ(root.at_pointer("/spec/containers/0/env/2/value"), "1.0");
}

TEST(PatchedPod, RefusesDirectivesOfOtherPatches) {
  EXPECT_EQ(patched("spec:\n  containers:\n    - name: muster\n      $patch: delete\n"),
            "my.yaml:4: it has '$patch', expected fields of a pod alone; null takes a key away");
}

TEST(PatchedPod, RefusesAnotherNumberOfDevices) {
  const std::string said = "', expected the '8' of --devices, which also counts the workers; give --devices instead";
  EXPECT_EQ(patched_container("resources: {requests: {nvidia.com/gpu: 4}}", ""),
            "my.yaml: nvidia.com/gpu is '4" + said);
  EXPECT_EQ(patched_container("resources: {limits: {nvidia.com/gpu: 4}}", ""), "my.yaml: nvidia.com/gpu is '4" + said);
  EXPECT_EQ(patched_container("resources: {limits: {nvidia.com/gpu: 8}}", "resources/limits"),
            R"({"nvidia.com/gpu":8})");
  EXPECT_EQ(patched_container("resources: {limits: {nvidia.com/gpu: null}}", "resources/limits"), "{}");
}

TEST(PatchedPod, GivesThePodOfALauncherNoExtendedResource) {
  PodPatch patch{
      "spec: {containers: [{name: muster, resources: {requests: {rdma/hca: 1}, limits: {rdma/hca: 1, cpu: 9}}}]}",
      "my.yaml", "muster"};
  const auto pod = patched_pod("spec: {containers: [{name: muster, image: i}]}", patch);
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(json::serialize(parse_yaml(*pod, "pod", Scalars::Typed)->root.at_pointer("/spec/containers/0/resources")),
            R"({"requests":{},"limits":{"cpu":9}})");
}

TEST(PatchedPod, RefusesAmountsThatKubernetesRefuses) {
  EXPECT_EQ(patched_container("resources: {requests: {rdma/hca: 1}}", ""),
            "my.yaml: the request of rdma/hca is '1', expected a limit of the same amount");
  EXPECT_EQ(patched_container("resources: {requests: {rdma/hca: 1}, limits: {rdma/hca: 2}}", ""),
            "my.yaml: the request of rdma/hca is '1', expected its limit of '2'");
  EXPECT_EQ(patched_container("resources: {limits: {rdma/hca: 1500m}}", ""),
            "my.yaml: rdma/hca is '1500m', expected a whole number");
  EXPECT_EQ(patched_container("resources: {limits: {memory: 16GB}}", ""),
            "my.yaml: memory is '16GB', expected a quantity such as 16, 500m or 64Gi");
  EXPECT_EQ(patched_container("resources: {limits: {cpu: 500m}}", ""),
            "my.yaml: the limit of cpu is '500m', expected at least the request of '8'");
  EXPECT_EQ(
      patched_container("resources: {requests: {rdma/hca: 1, memory: 1Gi}, limits: {rdma/hca: 1, cpu: 8.5}}",
                        "resources"),
      R"({"requests":{"cpu":"8","rdma/hca":1,"memory":"1Gi"},"limits":{"nvidia.com/gpu":"8","rdma/hca":1,"cpu":"8.5"}})");
}

TEST(PatchedPod, RefusesAMountWithoutItsVolume) {
  EXPECT_EQ(patched_container("volumeMounts: [{name: nope, mountPath: /x}]", ""),
            "my.yaml: the container 'muster' mounts the volume 'nope', expected one of spec.volumes: a");
  EXPECT_EQ(patched("spec: {initContainers: [{name: x, image: y, volumeMounts: [{name: nope, mountPath: /x}]}]}"),
            "my.yaml: the container 'x' mounts the volume 'nope', expected one of spec.volumes: a");
  EXPECT_NE(patched("spec: {volumes: [{name: b, emptyDir: {}}], containers: [{name: muster, volumeMounts: [{name: b, "
                    "mountPath: /x}]}]}")
                .find(R"({"name":"b","mountPath":"/x"})"),
            std::string::npos);
}

TEST(PatchedPod, RefusesASecondPortOfTheSameNumber) {
  const std::string said =
      " has the containerPort 29500, expected a number that no other port of muster's container has";
  EXPECT_EQ(patched_container("ports: [{name: q, containerPort: 29500}]", ""),
            "my.yaml: the container 'muster'" + said);
  EXPECT_EQ(patched("spec: {containers: [{name: s, image: i, ports: [{containerPort: 29500}]}]}"),
            "my.yaml: the container 's'" + said);
  EXPECT_EQ(patched_container("ports: [{name: q, containerPort: 9400}, {name: u, containerPort: 29500, protocol: UDP}]",
                              "ports/1/containerPort"),
            "9400");
  EXPECT_EQ(patched("spec: {containers: [{name: s, image: i, ports: [{containerPort: 80}]}]}").substr(0, 9),
            R"({"restart)");
}

TEST(PatchedPod, RefusesAPolicyThatTheControllerRefuses) {
  const auto said = [](const char* text, const char* policy) {
    PodPatch patch = my(text);
    patch.restart_policy = policy;
    const auto pod = patched_pod(kPod, patch);
    return pod ? "" : pod.error().message;
  };
  EXPECT_EQ(
      said("spec: {restartPolicy: OnFailure}", "Never"),
      "my.yaml: spec.restartPolicy is 'OnFailure', expected 'Never', the only one for pods of this kind of manifest");
  EXPECT_EQ(said("spec: {restartPolicy: ~}", "Never").substr(0, 40), "my.yaml: spec.restartPolicy is 'Always',");
  EXPECT_EQ(said("spec: {restartPolicy: OnFailure}", ""), "");
  EXPECT_EQ(said("spec: {restartPolicy: ~}", "Always"), "");
  EXPECT_EQ(said("spec: {initContainers: [{name: x, image: y, restartPolicy: Always}]}", "Never"), "");
}

TEST(PatchedPod, TakesLabelsOfJobsWhereThereIsNoJob) {
  PodPatch patch = my("metadata: {labels: {job-name: a}}");
  patch.is_of_jobs = false;
  EXPECT_TRUE(patched_pod(kPod, patch));
}

TEST(PatchedPod, RefusesLabelsOfControllers) {
  EXPECT_EQ(patched("metadata: {labels: {job-name: a}}"),
            "my.yaml: metadata.labels has 'job-name', expected labels that no controller of Kubernetes sets itself");
}

TEST(GraceInPatch, IsThatOfThePod) {
  EXPECT_EQ(grace_in_patch("spec: {terminationGracePeriodSeconds: 10}"), 10);
  EXPECT_EQ(grace_in_patch("metadata: {}"), std::nullopt);
  EXPECT_EQ(grace_in_patch("a: [}"), std::nullopt);
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
