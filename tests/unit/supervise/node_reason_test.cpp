// The words by which a node is the reason of a failure, and those by which it is not.
#include "supervise/node_reason.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

namespace muster {
namespace {

Failure ended_with(std::vector<std::string> last_lines, ExitStatus status = ExitStatus::exited(1)) {
  Failure failure;
  failure.status = status;
  failure.last_lines = std::move(last_lines);
  return failure;
}

std::string reason_of(const Failure& failure) {
  const auto reason = find_node_reason(failure);
  return reason ? reason->text : "";
}

TEST(NodeReason, IsABrokenDevice) {
  for (const char* const line : {
           "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered",
           "[rank3]: [PG ID 0] Process group watchdog thread terminated with exception: CUDA error: uncorrectable "
           "NVLink "
           "error detected during the execution",
           "NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, GPU has fallen off the bus.",
           "NVRM: Xid (PCI:0000:3b:00): 94, pid=4711, Contained: SM (0x1). RST: No, D-RST: No",
           "pynvml.NVMLError_GpuIsLost: GPU is lost",
           "RuntimeError: UCE ERROR.time us= 1732.",
           "RuntimeError: HBM MULTI BIT ECC ERROR.time us= 1732.",
           "RuntimeError: ACL stream synchronize failed, error code is 507054",
       }) {
    EXPECT_EQ(reason_of(ended_with({"Traceback (most recent call last):", line, "see the log"})), line);
    EXPECT_EQ(reason_of(ended_with({line}, ExitStatus::signalled(SIGABRT))), line);
  }
}

TEST(NodeReason, IsInTheErrorFileToo) {
  Failure failure = ended_with({"step 17"});
  failure.error_message = "CUDA error: uncorrectable ECC error encountered";
  EXPECT_EQ(reason_of(failure), failure.error_message);
}

TEST(NodeReason, MayBeOnAnotherRank) {
  const auto reason = find_node_reason(
      ended_with({"torchtitan.SDCReplayMismatch: SDC replay mismatch: step=3, attempt=1, replay=1, rank=5, "
                  "signature='loss'"}));
  ASSERT_TRUE(reason);
  EXPECT_EQ(reason->rank, 5);
  EXPECT_EQ(reason_of(ended_with({"SDCReplayMismatch"})), "") << "it is raised on every rank";
}

TEST(NodeReason, IsNotWhatAProgramDoesToItself) {
  for (const char* const line : {
           "ValueError: x",
           "RuntimeError: all_reduce error: sizes differ: 3 and 4",
           "ValueError: cannot reproduce errors of seed 3",
           "KeyError: taxid 9483 is not in the table",
           "psycopg2.Error: xid 640112 has been aborted",
           "INFO dcgm check ok: no uncorrectable ECC error encountered",
           "KeyError: \"suspect mem error\"",
           "AssertionError: expected handler for \"GPU is lost\" to be called",
           "warn: uce error count 0",
           "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB",
           "RuntimeError: CUDA error: an illegal memory access was encountered",
           "NVRM: Xid (PCI:0000:3b:00): 31, pid=4711, MMU Fault",
           "NVRM: Xid (PCI:0000:3b:00): 13, Graphics SM Warp Exception",
           "NVRM: Xid (PCI:0000:3b:00): 43, Ch 00000010",
           "|   0  NVIDIA H100          On  | Volatile Uncorr. ECC |",
           "        Double Bit ECC                    : 0",
           "OSError: [Errno 98] Address already in use",
           "OSError: [Errno 28] No space left on device",
           "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE)",
           "RuntimeError: [gloo] Connection closed by peer [10.0.0.1]",
           "RuntimeError: SUSPECT REMOTE ERROR",
           "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.",
           "Killed",
       }) {
    EXPECT_EQ(reason_of(ended_with({line})), "") << line;
    EXPECT_EQ(reason_of(ended_with({line}, ExitStatus::signalled(SIGKILL))), "") << line;
  }
}

TEST(NodeReason, IsNotWhereSomethingElseEndedTheProcess) {
  const std::vector<std::string> words{"CUDA error: uncorrectable ECC error encountered"};
  ASSERT_NE(reason_of(ended_with(words)), "");
  Failure failure = ended_with(words);
  failure.hints = {"the kernel killed it because memory ran out: oom_kill in '/memory.events' went from 0 to 1"};
  EXPECT_EQ(reason_of(failure), "");
  EXPECT_EQ(reason_of(ended_with({words[0], "RuntimeError: CUDA out of memory."})), "");
  EXPECT_EQ(reason_of(ended_with({words[0], "Connection closed by peer"})), "") << "a line of another rank";
  for (bool Failure::*const given : {&Failure::is_hung, &Failure::is_early_exit, &Failure::was_passed_on}) {
    Failure other = ended_with(words);
    other.*given = true;
    EXPECT_EQ(reason_of(other), "");
  }
  failure = ended_with(words);
  failure.service = "torch_store";
  EXPECT_EQ(reason_of(failure), "");
  failure = ended_with(words);
  failure.status.reset();
  EXPECT_EQ(reason_of(failure), "") << "it never ran";
}

TEST(NodeReason, IsNoDeviceIfASignalFromOutsideEndedTheProcess) {
  for (const int signal : {SIGKILL, SIGTERM, SIGINT, SIGHUP}) {
    EXPECT_EQ(reason_of(ended_with({"CUDA error: uncorrectable ECC error encountered"}, ExitStatus::signalled(signal))),
              "");
  }
}

TEST(NodeReason, HasNoSecrets) {
  EXPECT_EQ(reason_of(ended_with({"RuntimeError: CUDA error: uncorrectable ECC error encountered HF_TOKEN=hf_abc"})),
            "RuntimeError: CUDA error: uncorrectable ECC error encountered HF_TOKEN=***");
  EXPECT_EQ(
      reason_of(ended_with(
          {"CUDA error: uncorrectable ECC error encountered in train.py --api-token hf_abc --lr 1 redis://:pw@a"})),
      "CUDA error: uncorrectable ECC error encountered in train.py --api-token *** --lr 1 redis://***@a");
}

TEST(NodeReason, IsCut) {
  EXPECT_LE(reason_of(ended_with({"CUDA error: uncorrectable ECC error encountered" + std::string(5'000, '!')})).size(),
            210U);
}

}  // namespace
}  // namespace muster
