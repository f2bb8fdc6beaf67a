// Command lines of well-known projects: each is read as its launcher would read it, and planned.
// Shell variables are filled in as the project's own text says, and arguments of scripts are cut
// short where they are many.
#include "lines.hpp"
#include "plan/launch_plan.hpp"
#include "requests.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

// torchrun: who runs where

struct Planned {
  const char* project;  ///< and the file of it that has the line
  const char* line;
  int nodes;
  std::optional<int> node_rank;  ///< empty: by arrival
  std::string meets;             ///< address:port; empty: nobody meets, or at a free port
  int world_size;
  std::string program;  ///< of the first worker here
};

const std::vector<Planned>& torchrun_lines() {
  static const std::vector<Planned> kLines = {
      {"karpathy/nanoGPT README.md", "torchrun --standalone --nproc_per_node=8 train.py config/train_gpt2.py", 1, 0, "",
       8, "python3 train.py config/train_gpt2.py"},
      {"karpathy/nanoGPT README.md",
       "torchrun --nproc_per_node=8 --nnodes=2 --node_rank=0 --master_addr=123.456.123.456 "
       "--master_port=1234 train.py",
       2, 0, "123.456.123.456:1234", 16, "python3 train.py"},
      {"karpathy/nanoGPT README.md",
       "torchrun --nproc_per_node=8 --nnodes=2 --node_rank=1 --master_addr=123.456.123.456 "
       "--master_port=1234 train.py",
       2, 1, "123.456.123.456:1234", 16, "python3 train.py"},
      {"karpathy/nanochat speedrun.sh",
       "torchrun --standalone --nproc_per_node=8 -m scripts.base_train -- --depth=20 --run=dummy", 1, 0, "", 8,
       "python3 -m scripts.base_train --depth=20 --run=dummy"},
      {"karpathy/nanochat speedrun.sh", "torchrun --standalone --nproc_per_node=8 -m scripts.chat_eval -- -i mid", 1, 0,
       "", 8, "python3 -m scripts.chat_eval -i mid"},
      {"pytorch/torchtitan run_train.sh",
       "torchrun --nproc_per_node=8 --rdzv_backend c10d --rdzv_endpoint=localhost:0 "
       "--local-ranks-filter 0 --role rank --tee 3 -m torchtitan.train --module llama3 --config "
       "llama3_debugmodel",
       1, 0, "", 8, "python3 -m torchtitan.train --module llama3 --config llama3_debugmodel"},
      {"pytorch/torchtitan multinode_trainer.slurm",
       "torchrun --nnodes 4 --nproc_per_node 8 --rdzv_id 101 --rdzv_backend c10d --rdzv_endpoint "
       "10.0.0.1:29500 -m torchtitan.train --module m --config c",
       4, std::nullopt, "10.0.0.1:29500", 32, "python3 -m torchtitan.train --module m --config c"},
      {"NVIDIA/Megatron-LM examples/gpt3/train_gpt3_175b_distributed.sh",
       "torchrun --nproc_per_node 8 --nnodes 1 --master_addr localhost --master_port 6000 "
       "pretrain_gpt.py --num-layers 96 --tensor-model-parallel-size 8 --split 949,50,1",
       1, 0, "localhost:6000", 8,
       "python3 pretrain_gpt.py --num-layers 96 --tensor-model-parallel-size 8 --split 949,50,1"},
      {"NVIDIA/Megatron-LM examples/bert/train_bert_340m_distributed.sh",
       "torchrun --nproc_per_node 8 --nnodes 1 --master_addr localhost --master_port 6000 "
       "pretrain_bert.py --num-layers 24 --micro-batch-size 4",
       1, 0, "localhost:6000", 8, "python3 pretrain_bert.py --num-layers 24 --micro-batch-size 4"},
      {"hiyouga/LLaMA-Factory src/llamafactory/cli.py",
       "torchrun --nnodes 1 --node_rank 0 --nproc_per_node 8 --master_addr 127.0.0.1 --master_port "
       "20001 launcher.py train.yaml",
       1, 0, "127.0.0.1:20001", 8, "python3 launcher.py train.yaml"},
      {"hiyouga/LLaMA-Factory src/llamafactory/cli.py",
       "torchrun --nnodes 2 --node_rank 1 --nproc_per_node 8 --master_addr 192.168.0.1 "
       "--master_port "
       "29500 launcher.py train.yaml",
       2, 1, "192.168.0.1:29500", 16, "python3 launcher.py train.yaml"},
      {"huggingface/pytorch-image-models distributed_train.sh",
       "torchrun --nproc-per-node=4 train.py /data/imagenet --model resnet50", 1, 0, "", 4,
       "python3 train.py /data/imagenet --model resnet50"},
      {"pytorch/vision CONTRIBUTING_MODELS.md", "torchrun --nproc_per_node=8 train.py --model resnet18", 1, 0, "", 8,
       "python3 train.py --model resnet18"},
      {"pytorch/examples distributed/ddp-tutorial-series/slurm/sbatch_run.sh",
       "torchrun --nnodes 4 --nproc_per_node 1 --rdzv_id 2024 --rdzv_backend c10d --rdzv_endpoint "
       "10.0.0.1:29500 /shared/examples/multinode_torchrun.py 50 10",
       4, std::nullopt, "10.0.0.1:29500", 4, "python3 /shared/examples/multinode_torchrun.py 50 10"},
      {"pytorch/examples distributed/minGPT-ddp/mingpt/slurm/sbatch_run.sh",
       "torchrun --nnodes 2 --nproc_per_node 1 --rdzv_id 17025 --rdzv_backend c10d --rdzv_endpoint "
       "10.0.0.1:29500 /shared/examples/mingpt/main.py",
       2, std::nullopt, "10.0.0.1:29500", 2, "python3 /shared/examples/mingpt/main.py"},
      {"pytorch/examples distributed/tensor_parallelism/run_example.sh",
       "torchrun --nnodes=1 --nproc_per_node=4 --rdzv_id=101 --rdzv_endpoint=localhost:5972 "
       "two_d_parallel_example.py",
       1, 0, "localhost:5972", 4, "python3 two_d_parallel_example.py"},
      {"QwenLM/Qwen finetune/finetune_ds.sh",
       "torchrun --nproc_per_node 8 --nnodes 1 --node_rank 0 --master_addr localhost --master_port "
       "6001 finetune.py --bf16 True --deepspeed finetune/ds_config_zero2.json",
       1, 0, "localhost:6001", 8, "python3 finetune.py --bf16 True --deepspeed finetune/ds_config_zero2.json"},
      {"lm-sys/FastChat scripts/train_vicuna_7b.sh",
       "torchrun --nproc_per_node=16 --master_port=20001 fastchat/train/train.py --fp16 "
       "--weight_decay "
       "0.",
       1, 0, "127.0.0.1:20001", 16, "python3 fastchat/train/train.py --fp16 --weight_decay 0."},
      {"OpenGVLab/InternVL internvl_chat/shell/internvl2.0/2nd_finetune",
       "torchrun --nnodes=1 --node_rank=0 --master_addr=127.0.0.1 --nproc_per_node=8 "
       "--master_port=34229 internvl/train/internvl_chat_finetune.py --vision_select_layer -1",
       1, 0, "127.0.0.1:34229", 8, "python3 internvl/train/internvl_chat_finetune.py --vision_select_layer -1"},
      {"mlfoundations/open_clip README.md",
       "torchrun --nproc_per_node 4 -m open_clip_train.main --train-num-samples 10968539 --workers "
       "4",
       1, 0, "", 4, "python3 -m open_clip_train.main --train-num-samples 10968539 --workers 4"},
      {"facebookresearch/llama README.md",
       "torchrun --nproc_per_node 2 example.py --ckpt_dir 13B --tokenizer_path tokenizer.model", 1, 0, "", 2,
       "python3 example.py --ckpt_dir 13B --tokenizer_path tokenizer.model"},
      {"SiT README.md",
       "torchrun --nnodes=1 --nproc_per_node=2 train.py --model SiT-XL/2 --data-path "
       "/imagenet/train",
       1, 0, "", 2, "python3 train.py --model SiT-XL/2 --data-path /imagenet/train"},
  };
  return kLines;
}

// python -m torch.distributed.launch: the same, and the local rank behind the script's arguments
const std::vector<Planned>& launch_lines() {
  static const std::vector<Planned> kLines = {
      {"facebookresearch/mae FINETUNE.md",
       "muster torch.distributed.launch --nproc_per_node=8 main_finetune.py --accum_iter 4 "
       "--dist_eval",
       1, 0, "", 8, "python3 main_finetune.py --local-rank=0 --accum_iter 4 --dist_eval"},
      {"facebookresearch/deit README_deit.md",
       "muster torch.distributed.launch --nproc_per_node=4 --use_env main.py --batch-size 256", 1, 0, "", 4,
       "python3 main.py --batch-size 256"},
      {"microsoft/Swin-Transformer get_started.md",
       "muster torch.distributed.launch --nproc_per_node 8 --master_port 12345 main.py --cfg "
       "configs/swin/swin_tiny_patch4_window7_224.yaml --batch-size 128",
       1, 0, "127.0.0.1:12345", 8,
       "python3 main.py --local-rank=0 --cfg configs/swin/swin_tiny_patch4_window7_224.yaml "
       "--batch-size 128"},
      {"open-mmlab/mmsegmentation tools/dist_train.sh",
       "muster torch.distributed.launch --nproc_per_node=8 --master_port=29500 tools/train.py "
       "config.py "
       "--launcher pytorch --work_dir work",
       1, 0, "127.0.0.1:29500", 8,
       "python3 tools/train.py --local-rank=0 config.py --launcher pytorch --work_dir work"},
  };
  return kLines;
}

// Without the configuration files of the projects.
const std::vector<Planned>& accelerate_lines() {
  static const std::vector<Planned> kLines = {
      {"fudan-generative-vision/hallo train.sh",
       "accelerate launch -m --machine_rank 0 --main_process_ip 0.0.0.0 --main_process_port 20055 "
       "--num_machines 1 --num_processes 1 scripts.train_stage1 --config "
       "./configs/train/stage1.yaml",
       1, 0, "127.0.0.1:20055", 1, "python3 -m scripts.train_stage1 --config ./configs/train/stage1.yaml"},
      {"allenai/FineGrainedRLHF train_baseline.sh",
       "accelerate launch --main_process_port 29500 --num_machines 1 --machine_rank 0 "
       "--num_processes 4 --mixed_precision bf16 --multi_gpu train_baseline.py --config "
       "baseline_config.yml",
       1, 0, "127.0.0.1:29500", 4, "python3 train_baseline.py --config baseline_config.yml"},
      {"EvolvingLMMs-Lab/lmms-eval README.md",
       "accelerate launch --num_processes=8 --main_process_port=12346 -m lmms_eval --model "
       "qwen2_5_vl --tasks mme",
       1, 0, "127.0.0.1:12346", 8, "python3 -m lmms_eval --model qwen2_5_vl --tasks mme"},
      {"aigc-apps/VideoX-Fun, deepspeed on two machines",
       "accelerate launch --use_deepspeed --deepspeed_config_file config/zero_stage2_config.json "
       "--deepspeed_multinode_launcher standard --mixed_precision=bf16 --main_process_ip=10.0.0.1 "
       "--main_process_port=29503 --num_machines=2 --num_processes=16 --machine_rank=0 "
       "scripts/wan2.1/train.py --config_path=config/wan2.1/wan_civitai.yaml",
       2, 0, "10.0.0.1:29503", 16, "python3 scripts/wan2.1/train.py --config_path=config/wan2.1/wan_civitai.yaml"},
      {"ikergarcia1996/Easy-Translate README.md",
       "accelerate launch --multi_gpu --num_processes 2 --num_machines 1 translate.py "
       "--sentences_path sample_text/en.txt",
       1, 0, "", 2, "python3 translate.py --sentences_path sample_text/en.txt"},
      {"an address of the only machine",
       "accelerate launch --num_processes 4 --main_process_ip localhost train.py --grad_accum 16", 1, 0, "", 4,
       "python3 train.py --grad_accum 16"},
      {"where python -m stood", "muster accelerate.commands.launch --gpu_ids=6,7 --num_processes=2 train.py", 1, 0, "",
       2, "python3 train.py"},
  };
  return kLines;
}

std::string meeting_of(const LaunchPlan& plan) {
  return plan.cluster.master_port ? plan.placement.master_address + ":" + std::to_string(*plan.cluster.master_port)
                                  : "";
}

void expect_plan(const Planned& expected) {
  const Snapshot snapshot = snapshot_of({});
  const auto line = read_line(expected.line, snapshot);
  ASSERT_TRUE(line) << expected.project << ": " << line.error().message;
  const auto job = read_job(*line, snapshot);
  ASSERT_TRUE(job) << expected.project << ": " << job.error().message;
  auto mode = choose_mode(read_mode_request(line->settings), snapshot);
  ASSERT_TRUE(mode) << expected.project << ": " << mode.error().message;
  add_worker_arguments(mode->mode, *line);
  const auto cluster = describe_cluster(snapshot, line->settings);
  ASSERT_TRUE(cluster) << expected.project << ": " << cluster.error().message;
  const LaunchPlan plan = make_plan({*cluster, *mode, *job, snapshot});

  EXPECT_EQ(plan.placement.nodes, expected.nodes) << expected.project;
  EXPECT_EQ(plan.cluster.node.rank.has_value(), expected.node_rank.has_value()) << expected.project;
  EXPECT_EQ(plan.placement.node_rank.value, expected.node_rank.value_or(0)) << expected.project;
  EXPECT_EQ(meeting_of(plan), expected.meets) << expected.project;
  EXPECT_EQ(plan.world_size, expected.world_size) << expected.project;
  EXPECT_EQ(join(plan.workers.front().argv, " "), expected.program) << expected.project;
}

TEST(KnownLines, OfTorchrunArePlanned) {
  for (const Planned& line : torchrun_lines()) {
    expect_plan(line);
  }
}

TEST(KnownLines, OfTorchDistributedLaunchArePlanned) {
  for (const Planned& line : launch_lines()) {
    expect_plan(line);
  }
}

TEST(KnownLines, OfAccelerateArePlanned) {
  for (const Planned& line : accelerate_lines()) {
    expect_plan(line);
  }
}

// msrun: what is asked for

struct Asked {
  const char* project;
  const char* line;
  std::map<std::string, std::string> settings;  ///< an empty value: it is not there
  std::string program;
  bool is_python_script;
};

const std::vector<Asked>& deepspeed_lines() {
  static const std::vector<Asked> kLines = {
      {"haotian-liu/LLaVA scripts/v1_5/finetune.sh",
       "muster deepspeed llava/train/train_mem.py --deepspeed ./scripts/zero3.json --bf16 True",
       {{"nproc-per-node", "auto"}, {"mode", "deepspeed"}, {"nnodes", ""}},
       "llava/train/train_mem.py --deepspeed ./scripts/zero3.json --bf16 True",
       true},
  };
  return kLines;
}

const std::vector<Asked>& msrun_lines() {
  static const std::vector<Asked> kLines = {
      {"mindspore-lab/mindformers scripts/msrun_launcher.sh, one node",
       "msrun --worker_num=8 --local_worker_num=8 --master_port=8118 --log_dir=output/msrun_log "
       "--join=False --cluster_time_out=7200 run_mindformer.py --config c.yaml --run_mode train",
       {{"total-workers", "8"},
        {"nproc-per-node", "8"},
        {"nnodes", "1"},
        {"worker-port", "8118"},
        {"log-dir", "output/msrun_log"},
        {"set:cluster_time_out", "7200"},
        {"gang-timeout", "7200"}},
       "run_mindformer.py --config c.yaml --run_mode train",
       true},
      {"mindspore-lab/mindformers scripts/msrun_launcher.sh, several nodes",
       "msrun --worker_num=16 --local_worker_num=8 --master_addr=192.168.1.1 --master_port=8118 "
       "--node_rank=1 --log_dir=output/msrun_log --join=False --cluster_time_out=7200 "
       "run_mindformer.py --config c.yaml",
       {{"total-workers", "16"},
        {"nproc-per-node", "8"},
        {"nnodes", ""},
        {"node-rank", "1"},
        {"master-addr", "192.168.1.1"},
        {"master-port", "8118"},
        {"worker-port", "8118"}},
       "run_mindformer.py --config c.yaml",
       true},
      {"mindspore/docs msrun_launcher.md",
       "msrun --worker_num=8 --local_worker_num=8 train.py --device_target=Ascend "
       "--dataset_path=/path/to/dataset",
       {{"total-workers", "8"}, {"nnodes", "1"}, {"worker-port", ""}, {"log-dir", "."}},
       "train.py --device_target=Ascend --dataset_path=/path/to/dataset",
       true},
      {"mindspore-lab/mindone examples/pixart_sigma README.md",
       "msrun --worker_num=8 --local_worker_num=8 --log_dir=log train.py -c "
       "configs/train/pixart-sigma-512-MS.yaml --use_parallel True",
       {{"total-workers", "8"}, {"log-dir", "log"}},
       "train.py -c configs/train/pixart-sigma-512-MS.yaml --use_parallel True",
       true},
      {"mindspore-lab/mindone examples/opensora_pku, a causal VAE",
       "msrun --bind_core=True --worker_num=8 --local_worker_num=8 --master_port=9000 "
       "--log_dir=results/parallel_logs opensora/train/train_causalvae.py --precision bf16",
       {{"bind-core", "True"}, {"worker-port", "9000"}},
       "opensora/train/train_causalvae.py --precision bf16",
       true},
      {"mindspore-lab/mindone examples/opensora_pku, two nodes",
       "msrun --bind_core=True --node_rank=0 --worker_num=16 --local_worker_num=8 "
       "--master_addr=10.0.0.1 --log_dir=logs opensora/train/train_t2v_diffusers.py",
       {{"node-rank", "0"},
        {"total-workers", "16"},
        {"master-addr", "10.0.0.1"},
        {"master-port", "8118"},
        {"worker-port", ""}},
       "opensora/train/train_t2v_diffusers.py",
       true},
      {"mindspore-lab/mindcv configs/crossvit/README.md",
       "msrun --bind_core=True --worker_num 8 python train.py --config "
       "configs/crossvit/crossvit_15_ascend.yaml --data_dir /path/to/imagenet",
       {{"bind-core", "True"}, {"total-workers", "8"}, {"nproc-per-node", "8"}},
       "python train.py --config configs/crossvit/crossvit_15_ascend.yaml --data_dir "
       "/path/to/imagenet",
       false},
      {"mindspore-lab/mindyolo configs/yolov7/README.md",
       "msrun --worker_num=8 --local_worker_num=8 --bind_core=True --log_dir=./yolov7_log python "
       "train.py --config ./configs/yolov7/yolov7.yaml --device_target Ascend --is_parallel True",
       {{"bind-core", "True"}, {"log-dir", "./yolov7_log"}},
       "python train.py --config ./configs/yolov7/yolov7.yaml --device_target Ascend --is_parallel "
       "True",
       false},
      {"mindspore tests, distributed inference",
       "msrun --worker_num=8 --local_worker_num=8 --master_port=10923 --bind_core True --join True "
       "--cluster_time_out=800 pytest -sv --disable-warnings test_distributed_infer_except.py",
       {{"bind-core", "True"}, {"worker-port", "10923"}, {"set:cluster_time_out", "800"}},
       "pytest -sv --disable-warnings test_distributed_infer_except.py",
       false},
      {"mindspore models, wide_and_deep",
       "msrun --worker_num=8 --local_worker_num=8 --master_addr=127.0.0.1 --master_port=10969 "
       "--join=True --log_dir=./wide_and_deep_auto_parallel_logs pytest -s -v train_and_test.py",
       {{"master-addr", "127.0.0.1"}, {"log-dir", "./wide_and_deep_auto_parallel_logs"}},
       "pytest -s -v train_and_test.py",
       false},
      {"mindspore-lab/mindrlhf, GRPO",
       "msrun --worker_num=8 --local_worker_num=8 --master_addr=127.0.0.1 --master_port=7475 "
       "--join=True --log_dir=out ../../examples/grpo/qwen_grpo_tutorial/main.py "
       "rl_config.dataset_file=d",
       {{"master-port", "7475"}, {"log-dir", "out"}},
       "../../examples/grpo/qwen_grpo_tutorial/main.py rl_config.dataset_file=d",
       true},
  };
  return kLines;
}

void expect_settings(const std::vector<Asked>& lines) {
  for (const Asked& expected : lines) {
    const auto line = read_line(expected.line);
    ASSERT_TRUE(line) << expected.project << ": " << line.error().message;
    for (const auto& [name, value] : expected.settings) {
      const auto setting = line->settings.find(name);
      EXPECT_EQ(setting ? setting->value : "", value) << expected.project << ": " << name;
    }
    EXPECT_EQ(join(line->program, " "), expected.program) << expected.project;
    EXPECT_EQ(line->is_python_script, expected.is_python_script) << expected.project;
  }
}

TEST(KnownLines, OfMsrunAreRead) {
  expect_settings(msrun_lines());
}

TEST(KnownLines, OfDeepSpeedAreRead) {
  expect_settings(deepspeed_lines());
}

TEST(KnownLines, AreThirtyAtLeast) {
  EXPECT_GE(torchrun_lines().size() + launch_lines().size() + msrun_lines().size(), 30U);
}

}  // namespace
}  // namespace muster
