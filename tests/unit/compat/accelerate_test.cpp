// The command line of `accelerate launch`.
#include "lines.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Accelerate, IsACommandOfItsLauncher) {
  EXPECT_EQ(setting_of("muster accelerate launch --num_processes 2 a.py", "nproc-per-node"), "2 (--num_processes)");
  for (const std::string name :
       {"accelerate launch", "muster accelerate launch", "muster accelerate-launch",
        "muster accelerate.commands.launch", "muster accelerate.commands.accelerate_cli launch",
        "/opt/venv/bin/accelerate launch", "/opt/venv/bin/accelerate-launch"}) {
    EXPECT_EQ(program_of(name + " a.py --lr 1"), "a.py --lr 1") << name;
    EXPECT_EQ(error_of(name + " --foo a.py").find("64: unknown option '--foo'"), 0) << name;
  }
  EXPECT_EQ(setting_of("muster plan accelerate launch --multi_gpu a.py", "mode"),
            "accelerate (muster accelerate launch)");
  EXPECT_EQ(setting_of("accelerate launch --multi_gpu a.py", "mode"), "accelerate (accelerate launch)");
}

TEST(Accelerate, RefusesOtherCommands) {
  EXPECT_EQ(error_of("muster accelerate config --config_file x"),
            "64: 'muster accelerate' knows only the command 'launch': for 'config' start accelerate itself");
  EXPECT_EQ(error_of("accelerate"),
            "64: 'muster accelerate' knows only the command 'launch': write 'muster accelerate launch'");
  EXPECT_EQ(error_of("muster accelerate -m a"), error_of("accelerate"));
  EXPECT_EQ(program_of("muster -- accelerate config"), "accelerate config");
  for (const std::string name : {"accelerate", "accelerate launch", "accelerate-launch"}) {
    const auto line = read_line("muster " + name + " --help");
    ASSERT_TRUE(line) << line.error().message;
    EXPECT_TRUE(requests_text(line->settings)) << name;
  }
}

TEST(Accelerate, IsNamedByBothWordsInMessages) {
  const CompatLauncher& compat = *find_compat("accelerate");
  EXPECT_EQ(compat_help(compat).find("Usage: muster accelerate launch [options] script.py"), 0);
  EXPECT_EQ(compat_table(compat).find("| Option of accelerate launch |"), 0);
  EXPECT_EQ(compat_table(*find_compat("accelerate-launch")), compat_table(compat));
  EXPECT_NE(compat_completion(compat, {"bash", {}})->find("launch"), std::string::npos);
  EXPECT_EQ(notices_of("accelerate launch a.py --num_machines 2"),
            "--num_machines stands after the program and belongs to it; options of accelerate "
            "launch go in front of the program");
}

TEST(Accelerate, CountsTheProcessesOfAllMachines) {
  const std::string line =
      "accelerate launch --num_processes 8 --num_machines 2 --machine_rank 1 --main_process_ip "
      "10.0.0.1 --main_process_port 29501 a.py";
  EXPECT_EQ(setting_of(line, "nproc-per-node"), "4 (--num_processes)");
  EXPECT_EQ(setting_of(line, "nnodes"), "2 (--num_machines)");
  EXPECT_EQ(setting_of(line, "node-rank"), "1 (--machine_rank)");
  EXPECT_EQ(setting_of(line, "master-addr"), "10.0.0.1 (--main_process_ip)");
  EXPECT_EQ(setting_of(line, "worker-port"), "29501 (--main_process_port)");
  EXPECT_EQ(error_of("accelerate launch --num_processes 1 --num_machines 2 a.py"),
            "64: --num_processes is '1', expected at least one process for each of the 2 machines");
  EXPECT_EQ(notices_of("accelerate launch --num_processes 7 --num_machines 2 a.py"),
            "--num_processes is 7, of which each of the 2 machines starts 3, as with accelerate "
            "launch");
  EXPECT_EQ(error_of("accelerate launch --num_machines 0 a.py"),
            "64: --num_machines is '0', expected a number above 0");
  const Variables of_platform = {
      {"WORLD_SIZE", "2"}, {"RANK", "0"}, {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29500"}};
  EXPECT_EQ(setting_of("accelerate launch --num_processes 8 a.py", "nproc-per-node", of_platform),
            "4 (--num_processes)");
}

TEST(Accelerate, IgnoresTheMasterAddressOnOneMachine) {
  const std::string line =
      "accelerate launch --multi_gpu --num_machines 1 --machine_rank 0 --main_process_ip a "
      "--main_process_port 29501 a.py";
  EXPECT_EQ(setting_of(line, "master-addr"), "");
  EXPECT_EQ(setting_of(line, "node-rank"), "");
  EXPECT_EQ(setting_of(line, "master-port"), "29501 (--main_process_port)");
  EXPECT_EQ(setting_of("accelerate launch --multi_gpu --main_process_port 0 a.py", "master-port"), "");
}

TEST(Accelerate, MeetsWithoutRanksByTorchsEndpoint) {
  const std::string line = "accelerate launch --num_machines 2 --machine_rank 1 --main_process_ip a --rdzv_backend ";
  EXPECT_EQ(setting_of(line + "c10d a.py", "master-addr"), "a (--main_process_ip)");
  EXPECT_EQ(setting_of(line + "c10d a.py", "master-port"), "29500 (--main_process_ip)");
  EXPECT_EQ(setting_of(line + "c10d a.py", "node-rank"), "");
  EXPECT_EQ(setting_of(line + "static a.py", "node-rank"), "1 (--machine_rank)");
}

Snapshot with_devices(int count) {
  Snapshot snapshot = snapshot_of({});
  snapshot.devices.nvidia = count;
  return snapshot;
}

std::string mode_of(const std::string& options, int devices) {
  const auto line = read_line("accelerate launch " + options + " a.py", with_devices(devices));
  return line ? line->settings.find("mode")->value : line.error().message;
}

TEST(Accelerate, StartsOneProcessThatIsNoRank) {
  EXPECT_EQ(mode_of("", 0), "accelerate-single");
  EXPECT_EQ(mode_of("", 1), "accelerate-single");
  EXPECT_EQ(mode_of("", 2), "accelerate");
  EXPECT_EQ(mode_of("--num_processes 1", 2), "accelerate-single");
  EXPECT_EQ(mode_of("--num_processes 4", 1), "accelerate-single");
  EXPECT_EQ(mode_of("--num_processes 4", 0),
            "accelerate");  // devices of which muster knows nothing
  EXPECT_EQ(mode_of("--multi_gpu", 1), "accelerate");
  EXPECT_EQ(mode_of("--use_fsdp --num_processes 1", 1), "accelerate");
  EXPECT_EQ(mode_of("--cpu", 8), "accelerate-single");
  EXPECT_EQ(mode_of("--cpu --num_processes 4", 8), "accelerate");
  EXPECT_EQ(mode_of("--num_machines 2", 1), "accelerate");
  const auto line = read_line("accelerate launch --num_processes 4 a.py", with_devices(1));
  ASSERT_TRUE(line);
  EXPECT_EQ(join(line->notices, "; "),
            "starting one process and not the 4 of --num_processes, as accelerate launch does here: "
            "--multi_gpu starts them all");
}

/// "NAME=value (source)" for each variable of workers that begins so, joined by "; ".
std::string exported(const Result<CommandLine>& line, const std::string& beginning) {
  if (!line) {
    return line.error().message;
  }
  std::vector<std::string> found;
  for (const auto& [name, value] : line->settings.starting_with("export:" + beginning)) {
    found.push_back(name.substr(std::string("export:").size()) + "=" + value.value + " (" + value.source.name + ")");
  }
  return join(found, "; ");
}

std::string exported(const std::string& options, const std::string& beginning) {
  return exported(read_line("accelerate launch --num_processes 2 " + options + " a.py"), beginning);
}

TEST(Accelerate, ExportsTrainingSettingsToWorkers) {
  EXPECT_EQ(exported("--multi_gpu --mixed_precision bf16", "ACCELERATE_MIXED"),
            "ACCELERATE_MIXED_PRECISION=bf16 (--mixed_precision)");
  EXPECT_EQ(exported("--multi_gpu", "ACCELERATE_USE"), "");
  EXPECT_EQ(exported("", "ACCELERATE_USE"), "");  // several without a word for it
  EXPECT_EQ(exported("--cpu", "ACCELERATE_USE"), "ACCELERATE_USE_CPU=True (default of accelerate launch)");
  EXPECT_EQ(exported("--multi_gpu --num_cpu_threads_per_process 3", "OMP"),
            "OMP_NUM_THREADS=3 (--num_cpu_threads_per_process)");
  EXPECT_EQ(exported("--multi_gpu --gpu_ids 0,2", "CUDA"), "CUDA_VISIBLE_DEVICES=0,2 (--gpu_ids)");
  EXPECT_EQ(exported("--multi_gpu --gpu_ids all", "CUDA"), "");
  EXPECT_EQ(exported("--multi_gpu --dynamo_backend inductor", "ACCELERATE_DYNAMO_BACKEND"),
            "ACCELERATE_DYNAMO_BACKEND=INDUCTOR (--dynamo_backend)");
  EXPECT_EQ(exported("--multi_gpu --dynamo_backend x", ""),
            "--dynamo_backend is 'x', expected one of no, eager, aot_eager, inductor, "
            "aot_ts_nvfuser, nvprims_nvfuser, cudagraphs, ofi, fx2trt, onnxrt, tensorrt, "
            "aot_torchxla_trace_once, torhchxla_trace_once, tvm");
}

TEST(Accelerate, ExportsSettingsOfTheLaunchKindToWorkers) {
  EXPECT_EQ(exported("--multi_gpu --fsdp_version 2", "FSDP"), "");
  EXPECT_EQ(exported("--use_fsdp --fsdp_offload_params TRUE", "FSDP_OFFLOAD"),
            "FSDP_OFFLOAD_PARAMS=true (--fsdp_offload_params)");
  EXPECT_EQ(exported("--use_deepspeed --zero_stage 3", "ACCELERATE_DEEPSPEED"),
            "ACCELERATE_DEEPSPEED_ZERO_STAGE=3 (--zero_stage)");
  EXPECT_EQ(exported("--use_deepspeed --gradient_clipping 1", "ACCELERATE_GRADIENT"),
            "ACCELERATE_GRADIENT_CLIPPING=1.0 (--gradient_clipping)");
  EXPECT_EQ(exported("--use_deepspeed", "PYTHONPATH"), "PYTHONPATH=/home/user/job (default of accelerate launch)");
  EXPECT_EQ(exported("--use_megatron_lm --megatron_lm_no_load_optim False", "MEGATRON_LM_NO_LOAD"),
            "MEGATRON_LM_NO_LOAD_OPTIM=True (--megatron_lm_no_load_optim)");
  EXPECT_EQ(exported("--use_megatron_lm --megatron_lm_tp_degree x", ""),
            "--megatron_lm_tp_degree is 'x', expected a number");
  EXPECT_EQ(exported("--use_megatron_lm --megatron_lm_hidden_dropout x", ""),
            "--megatron_lm_hidden_dropout is 'x', expected a number");
  EXPECT_EQ(exported("--use_fsdp --fsdp_version 2 --use_parallelism_config "
                     "--parallelism_config_cp_size 2",
                     "PARALLELISM_CONFIG_CP"),
            "PARALLELISM_CONFIG_CP_BACKEND=torch (default of accelerate launch); "
            "PARALLELISM_CONFIG_CP_COMM_STRATEGY=allgather (default of accelerate launch); "
            "PARALLELISM_CONFIG_CP_SIZE=2 (--parallelism_config_cp_size)");
}

TEST(Accelerate, WritesDecimalsAsPythonDoes) {
  for (const auto& [given, written] : {std::pair("2", "2.0"),
                                       {"0.10", "0.1"},
                                       {"1e-4", "0.0001"},
                                       {"0.00001", "1e-05"},
                                       {"1e16", "1e+16"},
                                       {"1e15", "1000000000000000.0"},
                                       {"0", "0.0"}}) {
    EXPECT_EQ(exported("--use_deepspeed --gradient_clipping " + std::string(given), "ACCELERATE_GRADIENT_CLIPPING"),
              "ACCELERATE_GRADIENT_CLIPPING=" + std::string(written) + " (--gradient_clipping)");
  }
}

TEST(Accelerate, HasOptionsOfFp8WithThatPrecisionAlone) {
  EXPECT_EQ(exported("--multi_gpu --fp8_backend te", "ACCELERATE_FP8"), "");
  const std::string options = "--multi_gpu --mixed_precision fp8 --fp8_backend te ";
  EXPECT_EQ(exported(options + "--fp8_override_linear_precision true,no,1", "ACCELERATE_FP8_OVER"),
            "ACCELERATE_FP8_OVERRIDE_DGRAD=0 (default of accelerate launch); "
            "ACCELERATE_FP8_OVERRIDE_FPROP=1 (default of accelerate launch); "
            "ACCELERATE_FP8_OVERRIDE_WGRAD=1 (default of accelerate launch)");
  EXPECT_EQ(exported(options, "ACCELERATE_FP8_OVERRIDE_F"),
            "ACCELERATE_FP8_OVERRIDE_FPROP=False (default of accelerate launch)");
  EXPECT_EQ(exported(options + "--fp8_pad_inner_dim no", "ACCELERATE_FP8_PAD"),
            "ACCELERATE_FP8_PAD_INNER_DIM=0 (--fp8_pad_inner_dim)");
  EXPECT_EQ(exported(options + "--fp8_pad_inner_dim x", ""), "--fp8_pad_inner_dim is 'x', expected true or false");
  EXPECT_EQ(exported(options + "--fp8_override_linear_precision true", ""),
            "--fp8_override_linear_precision is 'true', expected three of true or false, with "
            "commas");
}

TEST(Accelerate, RefusesWhatItRefuses) {
  EXPECT_EQ(error_of("accelerate launch --cpu --use_fsdp a.py"),
            "64: --cpu and --use_fsdp contradict each other: a job is one of them");
  EXPECT_EQ(error_of("accelerate launch --multi_gpu --num_processes 1 a.py"),
            "64: --num_processes is '1', expected 2 or more with --multi_gpu");
  EXPECT_EQ(error_of("accelerate launch --use_parallelism_config a.py"),
            "64: --use_parallelism_config needs --use_fsdp as well");
  EXPECT_EQ(error_of("accelerate launch --tpu a.py"),
            "64: --tpu is refused: this option is for TPUs, and torch_xla starts the processes of TPUs");
  EXPECT_EQ(error_of("accelerate launch --module --no_python a"),
            "64: --module and --no_python contradict each other: a module is run by Python");
  EXPECT_EQ(notices_of("accelerate launch --quiet a.py"),
            "ignoring --quiet: muster prints little even without this option");
}

TEST(Accelerate, StartsTheHostsOfAHostfile) {
  const std::string line =
      "accelerate launch --use_deepspeed --num_machines 2 --num_processes 16 --deepspeed_hostfile "
      "h ";
  EXPECT_EQ(setting_of(line + "a.py", "hostfile"), "h (--deepspeed_hostfile)");
  EXPECT_EQ(setting_of(line + "a.py", "nproc-per-node"), "8 (--num_processes)");
  EXPECT_EQ(setting_of(line + "a.py", "nnodes"), "");
  EXPECT_EQ(setting_of(line + "--deepspeed_exclusion_filter a a.py", "exclude-hosts"),
            "a (--deepspeed_exclusion_filter)");
  const std::string by_itself = line + "--deepspeed_multinode_launcher standard a.py";
  EXPECT_EQ(setting_of(by_itself, "hostfile"), "");
  EXPECT_EQ(
      notices_of(by_itself),
      "ignoring --deepspeed_hostfile: with --deepspeed_multinode_launcher standard you start muster on each node");
  EXPECT_EQ(setting_of("accelerate launch --cpu --num_machines 2 --num_processes 4 --mpirun_hostfile h "
                       "a.py",
                       "hostfile"),
            "h (--mpirun_hostfile)");
}

// The configuration file

/// Files by their paths, and HOME.
struct Files {
  std::map<std::string, std::string> texts;

  Result<CommandLine> read(const std::string& options, Variables variables = {}) const {
    variables.try_emplace("HOME", "/home/user");
    return read_line("accelerate launch " + options + " a.py", snapshot_of(std::move(variables)),
                     [this](const std::string& path) {
                       const auto at = texts.find(path);
                       return at == texts.end() ? std::nullopt : std::optional(at->second);
                     });
  }

  std::string setting(const std::string& options, const std::string& name) const {
    const auto line = read(options);
    const auto found = line ? line->settings.find(name) : std::nullopt;
    return found ? found->value + " (" + found->source.name + ")" : (line ? "" : line.error().message);
  }

  std::string error(const std::string& options) const {
    const auto line = read(options);
    return line ? "no error" : std::to_string(line.error().exit_code()) + ": " + line.error().message;
  }
};

constexpr const char* kSeveral =
    "distributed_type: MULTI_GPU\nnum_processes: 16\nnum_machines: 2\nmachine_rank: 1\n"
    "main_process_ip: 10.0.0.1\nmain_process_port: 29501\nmixed_precision: bf16\n"
    "rdzv_backend: c10d\nenable_cpu_affinity: true\ndynamo_config:\n  dynamo_backend: INDUCTOR\n";

TEST(AccelerateConfiguration, AppliesWithoutAFlag) {
  const Files files{{{"c.yaml", kSeveral}}};
  EXPECT_EQ(files.setting("--config_file c.yaml", "nproc-per-node"), "8 (c.yaml num_processes)");
  EXPECT_EQ(files.setting("--config_file c.yaml", "nnodes"), "2 (c.yaml num_machines)");
  EXPECT_EQ(files.setting("--config_file c.yaml", "node-rank"), "1 (c.yaml machine_rank)");
  EXPECT_EQ(files.setting("--config_file c.yaml", "master-addr"), "10.0.0.1 (c.yaml main_process_ip)");
  EXPECT_EQ(exported(files.read("--config_file c.yaml"), "ACCELERATE_DYNAMO_BACKEND"),
            "ACCELERATE_DYNAMO_BACKEND=INDUCTOR (c.yaml dynamo_backend)");
  EXPECT_EQ(exported(files.read("--config_file c.yaml"), "ACCELERATE_MIXED"),
            "ACCELERATE_MIXED_PRECISION=bf16 (c.yaml mixed_precision)");

  const std::string flags =
      "--config_file c.yaml --num_processes 4 --machine_rank 0 --mixed_precision no "
      "--dynamo_backend no";
  EXPECT_EQ(files.setting(flags, "nproc-per-node"), "2 (--num_processes)");
  EXPECT_EQ(files.setting(flags, "node-rank"), "0 (--machine_rank)");
  EXPECT_EQ(exported(files.read(flags), "ACCELERATE_DYNAMO_BACKEND"),
            "ACCELERATE_DYNAMO_BACKEND=NO (--dynamo_backend)");
  EXPECT_EQ(exported(files.read(flags), "ACCELERATE_MIXED"), "ACCELERATE_MIXED_PRECISION=no (--mixed_precision)");
}

TEST(AccelerateConfiguration, ExportsNothingForSettingsWithOwnDefaults) {
  const Files files{{{"c.yaml", kSeveral}}};
  EXPECT_EQ(exported(files.read("--config_file c.yaml"), "ACCELERATE_CPU"), "");
  EXPECT_EQ(files.setting("--config_file c.yaml", "platform"), "");  // c10d would be "flags"
}

TEST(AccelerateConfiguration, IsFoundWhereAccelerateHasIt) {
  const std::string text = "distributed_type: MULTI_GPU\nnum_processes: 3\n";
  for (const auto& [path, variables] : {std::pair<std::string, Variables>{"/home/user/.cache/huggingface", {}},
                                        {"/hf", {{"HF_HOME", "/hf"}, {"XDG_CACHE_HOME", "/x"}}},
                                        {"/home/user/hf", {{"HF_HOME", "~/hf"}}},
                                        {"/x/huggingface", {{"XDG_CACHE_HOME", "/x"}}}}) {
    const Files files{{{path + "/accelerate/default_config.yaml", text}}};
    const auto line = files.read("", variables);
    ASSERT_TRUE(line);
    EXPECT_EQ(line->settings.find("nproc-per-node")->value, "3") << path;
    const auto on_cpu = files.read("--cpu", variables);
    ASSERT_TRUE(on_cpu);
    EXPECT_EQ(on_cpu->settings.find("mode")->value, "accelerate-single") << path;
  }
}

TEST(AccelerateConfiguration, ChoosesTheKind) {
  const auto files_of = [](const std::string& text) { return Files{{{"c", text}}}; };
  const auto kind_of = [&](const std::string& text, const std::string& options) {
    return exported(files_of(text).read("--config_file c " + options), "ACCELERATE_USE");
  };
  const std::string deepspeed =
      "distributed_type: DEEPSPEED\nnum_processes: 2\nmixed_precision: bf16\n"
      "deepspeed_config:\n  zero_stage: 2\n  zero3_init_flag: false\n";
  EXPECT_EQ(kind_of(deepspeed, ""), "ACCELERATE_USE_DEEPSPEED=true (default of accelerate launch)");
  EXPECT_EQ(kind_of(deepspeed, "--multi_gpu"), "");
  EXPECT_EQ(exported(files_of(deepspeed).read("--config_file c"), "ACCELERATE_CONFIG"),
            "ACCELERATE_CONFIG_DS_FIELDS=zero_stage,zero3_init_flag,mixed_precision (default of "
            "accelerate launch)");
  EXPECT_EQ(exported(files_of(deepspeed).read("--config_file c --zero_stage 3"), "ACCELERATE_DEEPSPEED_ZERO_STAGE"),
            "ACCELERATE_DEEPSPEED_ZERO_STAGE=3 (--zero_stage)");
  EXPECT_EQ(kind_of("distributed_type: FSDP\nnum_processes: 2\n"
                    "fsdp_config: {offload_params: true}",
                    ""),
            "ACCELERATE_USE_FSDP=true (default of accelerate launch)");
  EXPECT_EQ(files_of("distributed_type: NO\nnum_processes: 1").setting("--config_file c", "mode"),
            "accelerate-single (c num_processes)");
  EXPECT_EQ(files_of("distributed_type: 'NO'").setting("--config_file c --num_processes 8", "mode"),
            "accelerate-single (--num_processes)");
  EXPECT_EQ(files_of("distributed_type: MULTI_CPU\nnum_processes: 4\nuse_cpu: true")
                .setting("--config_file c", "nproc-per-node"),
            "4 (c num_processes)");
}

TEST(AccelerateConfiguration, MembersOfASectionAreOptions) {
  const Files files{{{"c",
                      "distributed_type: FSDP\nnum_processes: 2\nfsdp_config:\n"
                      "  offload_params: true\n  fsdp_transformer_layer_cls_to_wrap: [A, B]\n"
                      "  fsdp_backward_prefetch: null\n  ignored_modules: x\n"}}};
  const auto line = files.read("--config_file c");
  EXPECT_EQ(exported(line, "FSDP_OFFLOAD"), "FSDP_OFFLOAD_PARAMS=true (c offload_params)");
  EXPECT_EQ(exported(line, "FSDP_TRANS"), "FSDP_TRANSFORMER_CLS_TO_WRAP=A,B (c fsdp_transformer_layer_cls_to_wrap)");
  EXPECT_EQ(exported(line, "FSDP_BACKWARD"), "");
  EXPECT_EQ(exported(line, "FSDP_IGNORED"), "FSDP_IGNORED_MODULES=x (c ignored_modules)");
}

TEST(AccelerateConfiguration, OfOlderReleasesIsUnderstood) {
  const Files files{{{"c",
                      "distributed_type: MULTI_GPU\nnum_processes: 2\nfp16: true\n"
                      "dynamo_backend: INDUCTOR\n"}}};
  const auto line = files.read("--config_file c");
  EXPECT_EQ(exported(line, "ACCELERATE_MIXED"), "ACCELERATE_MIXED_PRECISION=fp16 (c fp16)");
  EXPECT_EQ(exported(line, "ACCELERATE_DYNAMO_BACKEND"), "ACCELERATE_DYNAMO_BACKEND=INDUCTOR (c dynamo_backend)");
}

TEST(AccelerateConfiguration, ThatIsWrongIsRefused) {
  EXPECT_EQ(Files{}.error("--config_file c"),
            "64: --config_file is 'c', expected a YAML or JSON file that can be read");
  const auto error_of_text = [](const std::string& text) { return Files{{{"c", text}}}.error("--config_file c"); };
  EXPECT_EQ(error_of_text("num_processes: 2"), "65: c: there is no distributed_type, expected one such as MULTI_GPU");
  EXPECT_EQ(error_of_text("distributed_type: MULTI_GPU\nfoo: 1"),
            "65: c: 'foo' is no key of accelerate's configuration");
  EXPECT_EQ(error_of_text("- a"), "65: c: expected keys and values of accelerate's configuration");
  EXPECT_EQ(error_of_text("compute_environment: AMAZON_SAGEMAKER\nec2_instance_type: x"),
            "65: c: compute_environment is 'AMAZON_SAGEMAKER', expected LOCAL_MACHINE: accelerate itself starts jobs "
            "at Amazon");
  EXPECT_EQ(error_of_text("distributed_type: XLA"),
            "78: c distributed_type is 'XLA', expected NO, MULTI_CPU, MULTI_GPU or the like, "
            "DEEPSPEED, FSDP or MEGATRON_LM: start anything else by accelerate itself");
  EXPECT_EQ(error_of_text("distributed_type: 'NO'\nmixed_precision: half"),
            "78: c mixed_precision is 'half', expected no, fp16, bf16 or fp8");
  EXPECT_EQ(error_of_text("distributed_type: MULTI_GPU\ngpu_ids: '0'"),
            "78: c gpu_ids is '0', expected several devices for several processes on one node, or "
            "all");
}

}  // namespace
}  // namespace muster
