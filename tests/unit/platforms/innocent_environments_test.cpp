// Surroundings that number machines, tasks or hosts and describe no job of several nodes: CI systems, notebooks,
// databases, services, schedulers' jobs of one node, shells. Names and values are as these products set them.
#include "base/text.hpp"
#include "platforms/snapshots.hpp"

#include <sstream>
#include <utility>
#include <vector>

namespace muster {
namespace {

/// "# name", and below it its variables, a line each.
constexpr const char* kSurroundings = R"(
# GitHub Actions
CI=true
GITHUB_ACTIONS=true
GITHUB_RUN_ID=1658821493
GITHUB_RUN_NUMBER=3
GITHUB_RUN_ATTEMPT=1
RUNNER_NAME=GitHub Actions 2
RUNNER_OS=Linux
# GitHub Actions, a matrix that shares tests out
CI=true
GITHUB_ACTIONS=true
CI_NODE_INDEX=1
CI_NODE_TOTAL=4
# GitLab CI, parallel: 5
CI=true
GITLAB_CI=true
CI_NODE_INDEX=2
CI_NODE_TOTAL=5
CI_CONCURRENT_ID=0
CI_RUNNER_ID=12270807
CI_SERVER_HOST=gitlab.com
CI_JOB_ID=1234
# GitLab CI without CI
GITLAB_CI=true
CI_NODE_INDEX=1
CI_NODE_TOTAL=5
# CircleCI, parallelism: 4
CI=true
CIRCLECI=true
CIRCLE_NODE_INDEX=3
CIRCLE_NODE_TOTAL=4
CIRCLE_BUILD_NUM=77
# Buildkite
BUILDKITE=true
BUILDKITE_PARALLEL_JOB=1
BUILDKITE_PARALLEL_JOB_COUNT=6
BUILDKITE_AGENT_ID=018f-22ab
CI_NODE_INDEX=1
CI_NODE_TOTAL=6
# Jenkins
JENKINS_URL=https://jenkins.example/
BUILD_NUMBER=153
EXECUTOR_NUMBER=1
NODE_NAME=linux-agent-2
NODE_LABELS=gpu linux-agent-2
CI_NODE_INDEX=1
CI_NODE_TOTAL=3
# Azure Pipelines, parallel jobs
TF_BUILD=True
SYSTEM_TOTALJOBSINPHASE=4
SYSTEM_JOBPOSITIONINPHASE=2
AGENT_ID=12
AGENT_NAME=Hosted Agent
CI_NODE_INDEX=1
CI_NODE_TOTAL=4
# Travis CI
CI=true
TRAVIS=true
TRAVIS_JOB_NUMBER=4.1
TRAVIS_NODE_VERSION=20
CI_NODE_INDEX=0
CI_NODE_TOTAL=2
# TeamCity
TEAMCITY_VERSION=2024.12
BUILD_NUMBER=9
CI_NODE_TOTAL=3
CI_NODE_INDEX=1
# AWS CodeBuild, batch fan-out
CODEBUILD_BUILD_ID=tests:b1e6661e-e4f2
CODEBUILD_BUILD_NUMBER=12
CI_NODE_INDEX=1
CI_NODE_TOTAL=4
AWS_REGION=us-east-1
# Semaphore
CI=true
SEMAPHORE=true
SEMAPHORE_JOB_INDEX=2
SEMAPHORE_JOB_COUNT=8
# Drone
CI=true
DRONE=true
DRONE_STAGE_NUMBER=1
DRONE_BUILD_NUMBER=42
# Bitbucket Pipelines
CI=true
BITBUCKET_BUILD_NUMBER=8
BITBUCKET_PARALLEL_STEP=1
BITBUCKET_PARALLEL_STEP_COUNT=4
# Knapsack Pro on Heroku CI
CI=true
CI_NODE_INDEX=0
CI_NODE_TOTAL=4
KNAPSACK_PRO_CI_NODE_TOTAL=4
KNAPSACK_PRO_CI_NODE_INDEX=0
# pytest-xdist
PYTEST_XDIST_WORKER=gw3
PYTEST_XDIST_WORKER_COUNT=8
PYTEST_XDIST_TESTRUNUID=6ad2bb92
PYTEST_CURRENT_TEST=tests/test_a.py::test_b (call)
# Jest and Vitest
JEST_WORKER_ID=2
VITEST_WORKER_ID=2
VITEST_POOL_ID=1
NODE_ENV=test
# Playwright
TEST_WORKER_INDEX=2
TEST_PARALLEL_INDEX=1
# Bazel, a sharded test
TEST_TOTAL_SHARDS=4
TEST_SHARD_INDEX=1
TEST_SIZE=medium
GTEST_TOTAL_SHARDS=4
GTEST_SHARD_INDEX=1
# make
MAKEFLAGS= -j16 --jobserver-auth=3,4
MAKELEVEL=1
MAKE_NPROCS=16
NPROCS=16
# Jupyter
JPY_PARENT_PID=4711
JPY_SESSION_NAME=train.ipynb
JUPYTER_SERVER_ROOT=/home/me
JUPYTERHUB_USER=me
JUPYTERHUB_HOST=
JUPYTERHUB_API_URL=http://hub:8081/hub/api
# Kaggle
KAGGLE_KERNEL_RUN_TYPE=Interactive
KAGGLE_DOCKER_IMAGE=gcr.io/kaggle-gpu-images/python
TENSORFLOW_VERSION=2.17
# Colab
COLAB_GPU=1
COLAB_RELEASE_TAG=release-colab_20250102
TBE_RUNTIME_ADDR=172.28.0.1:8011
TPU_PROCESS_COUNT=1
# Databricks
DATABRICKS_RUNTIME_VERSION=15.4
DB_IS_DRIVER=TRUE
DB_CLUSTER_ID=1012-112233-abcd
SPARK_WORKER_CORES=8
SPARK_WORKER_INSTANCES=2
SPARK_EXECUTOR_INSTANCES=4
# Spark's executor in Kubernetes
SPARK_EXECUTOR_ID=3
SPARK_EXECUTOR_CORES=4
SPARK_EXECUTOR_POD_NAME=job-exec-3
SPARK_APPLICATION_ID=spark-0a1b
# Ray
RAY_ADDRESS=10.0.0.1:6379
RAY_NODE_ID=5f3a
RAY_JOB_ID=01000000
RAY_NODE_IP_ADDRESS=10.0.0.1
RAY_CLUSTER_NAME=default
# Dask
DASK_SCHEDULER_ADDRESS=tcp://10.0.0.1:8786
DASK_DISTRIBUTED__WORKER__MEMORY__TARGET=0.8
DASK_WORKER_NAME=3
# Airflow
AIRFLOW__CELERY__WORKER_CONCURRENCY=16
AIRFLOW__CORE__PARALLELISM=32
AIRFLOW_CTX_TRY_NUMBER=1
# Celery
CELERY_WORKER_COUNT=4
CELERY_BROKER_URL=redis://redis:6379/0
CELERYD_NODES=worker1 worker2
# Gunicorn and Uvicorn
WEB_CONCURRENCY=4
GUNICORN_WORKER_COUNT=4
UVICORN_WORKERS=4
NUM_WORKERS=4
FORWARDED_ALLOW_IPS=10.0.0.1,10.0.0.2
# PM2
NODE_APP_INSTANCE=1
PM2_HOME=/home/me/.pm2
pm_id=1
instances=4
# Node.js
NODE_VERSION=20.11.1
NODE_OPTIONS=--max-old-space-size=4096
NODE_PATH=/usr/lib/node_modules
NODE_ENV=production
# Django
ALLOWED_HOSTS=a.example,b.example
TRUSTED_HOSTS=a.example,b.example
CORS_ALLOWED_HOSTS=a.example,b.example
DJANGO_ALLOWED_HOSTS=a.example b.example
# Elasticsearch, Bitnami
ELASTICSEARCH_TOTAL_NODES=3
ELASTICSEARCH_CLUSTER_HOSTS=es-0,es-1,es-2
ELASTICSEARCH_MINIMUM_MASTER_NODES=2
ELASTICSEARCH_NODE_NAME=es-0
# OpenSearch, Bitnami
OPENSEARCH_TOTAL_NODES=3
OPENSEARCH_CLUSTER_HOSTS=os-0,os-1,os-2
OPENSEARCH_HOSTS=["https://os-0:9200","https://os-1:9200"]
# Kibana
ELASTICSEARCH_HOSTS=["http://es01:9200","http://es02:9200"]
SERVER_HOST=0.0.0.0
# Kafka in KRaft mode
KAFKA_NODE_ID=2
KAFKA_BROKER_ID=2
KAFKA_CONTROLLER_QUORUM_VOTERS=1@k1:9093,2@k2:9093,3@k3:9093
KAFKA_NUM_PARTITIONS=3
KAFKA_NUM_NETWORK_THREADS=8
KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR=3
KAFKA_HOSTS=k1,k2
# ZooKeeper
ZOO_MY_ID=2
ZOO_SERVERS=server.1=zk1:2888:3888;2181 server.2=zk2:2888:3888;2181
ZOOKEEPER_HOSTS=zk1:2181,zk2:2181
# Redis cluster, Bitnami
REDIS_NODES=redis-0 redis-1 redis-2
REDIS_CLUSTER_REPLICAS=1
REDIS_CLUSTER_CREATOR=yes
REDISCLI_AUTH=s3cr3t
# Cassandra
CASSANDRA_SEEDS=c1,c2
CASSANDRA_NUM_TOKENS=256
CASSANDRA_HOSTS=c1,c2
CASSANDRA_CLUSTER_NAME=one
# ScyllaDB and Couchbase
SCYLLA_HOSTS=s1,s2
COUCHBASE_HOSTS=c1,c2
# MongoDB replica set
MONGODB_REPLICA_SET_NAME=rs0
MONGODB_REPLICA_SET_MODE=secondary
MONGODB_INITIAL_PRIMARY_HOST=mongo-0
MONGO_HOSTS=mongo-0:27017,mongo-1:27017
# PostgreSQL with repmgr, Bitnami
REPMGR_NODE_ID=1001
REPMGR_NODE_NAME=pg-1
REPMGR_PARTNER_NODES=pg-0,pg-1
REPMGR_PRIMARY_HOST=pg-0
PGHOST=pg-0
# pgpool
PGPOOL_BACKEND_NODES=0:pg-0:5432,1:pg-1:5432
PGPOOL_NUM_INIT_CHILDREN=32
DB_HOSTS=pg-0,pg-1
# ClickHouse
CLICKHOUSE_REPLICA_ID=2
CLICKHOUSE_SHARD_ID=1
CLICKHOUSE_HOSTS=ch-0,ch-1
# etcd
ETCD_NAME=etcd-1
ETCD_INITIAL_CLUSTER=etcd-0=http://etcd-0:2380,etcd-1=http://etcd-1:2380
ETCD_HOSTS=etcd-0,etcd-1
ETCD_CLUSTER_SIZE=3
# RabbitMQ and Erlang
RABBITMQ_NODENAME=rabbit@mq-1
RABBITMQ_NODES=rabbit@mq-0,rabbit@mq-1
RABBITMQ_NODE_PORT=5672
RABBITMQ_CLUSTER_NODE_NAME=rabbit@mq-0
# Consul, Vault and NATS
CONSUL_HTTP_ADDR=consul:8500
CONSUL_HOSTS=c1,c2,c3
VAULT_RAFT_NODE_ID=vault-1
NATS_HOSTS=n1,n2
# Memcached, MinIO
MEMCACHED_HOSTS=m1,m2
MINIO_DISTRIBUTED_NODES=minio-{0...3}
MINIO_DISTRIBUTED_MODE_ENABLED=yes
# Triton, TorchServe
TRITON_SERVER_VERSION=2.50
TS_NUMBER_OF_GPU=4
TS_DEFAULT_WORKERS_PER_MODEL=2
DEFAULT_WORKERS_PER_MODEL=2
# gRPC and brpc
GRPC_POLL_STRATEGY=epoll1
GRPC_NUM_THREADS=8
RPC_WORKER_COUNT=8
NO_PROXY=localhost,127.0.0.1,10.0.0.0/8
# vLLM, a process of its own data parallelism
VLLM_DP_RANK=1
VLLM_DP_RANK_LOCAL=1
VLLM_DP_SIZE=2
VLLM_HOST_IP=10.0.0.1
# Cloud Run jobs
CLOUD_RUN_JOB=train
CLOUD_RUN_TASK_INDEX=1
CLOUD_RUN_TASK_COUNT=10
CLOUD_RUN_TASK_ATTEMPT=0
# Nomad
NOMAD_ALLOC_INDEX=1
NOMAD_GROUP_NAME=train
NOMAD_JOB_ID=train
NOMAD_CPU_CORES=0-3
# VS Code over ssh
TERM_PROGRAM=vscode
VSCODE_IPC_HOOK_CLI=/run/user/1000/vscode-ipc.sock
VSCODE_GIT_ASKPASS_NODE=/home/me/.vscode-server/node
VSCODE_AGENT_FOLDER=/home/me/.vscode-server
SSH_CONNECTION=10.0.0.9 50000 10.0.0.1 22
# Kubernetes' service variables
KUBERNETES_SERVICE_HOST=10.96.0.1
KUBERNETES_SERVICE_PORT=443
TRAIN_WORKERS_SERVICE_HOST=10.96.7.1
TRAIN_WORKERS_SERVICE_PORT=80
NODE_COUNT_SERVICE_HOST=10.96.7.2
NODE_COUNT_PORT_80_TCP_ADDR=10.96.7.2
WORKER_0_SERVICE_HOST=10.96.7.3
# Kubernetes' downward API
NODE_NAME=gpu-node-7
MY_NODE_NAME=gpu-node-7
K8S_NODE=10.1.2.3
HOST_IP=10.1.2.3
POD_IP=10.244.1.9
POD_NAME=train-0
POD_INDEX=0
# A StatefulSet's pod of a web service
POD_INDEX=3
APP_POD_INDEX=3
WEB_REPLICA_COUNT=5
# conda
CONDA_DEFAULT_ENV=base
CONDA_SHLVL=2
CONDA_PREFIX_1=/opt/conda
HOST=x86_64-conda-linux-gnu
BUILD=x86_64-conda-linux-gnu
# ssh and sudo
SSH_TTY=/dev/pts/3
SUDO_UID=1000
SUDO_USER=me
SUDO_COMMAND=/bin/bash
KNOWN_HOSTS=/home/me/.ssh/known_hosts
# A shell
_=/usr/bin/env
SHLVL=1
OLDPWD=/
# tmux and screen
TMUX=/tmp/tmux-1000/default,3042,0
TMUX_PANE=%7
STY=4711.pts-0.node
WINDOW=2
# A desktop session
DESKTOP_SESSION=gnome
XDG_SESSION_ID=2
XDG_SEAT=seat0
SESSION_MANAGER=local/node:@/tmp/.ICE-unix/1234
GNOME_SHELL_SESSION_MODE=ubuntu
# Slurm, one node with eight tasks
SLURM_JOB_ID=77
SLURM_JOB_NUM_NODES=1
SLURM_NNODES=1
SLURM_NTASKS=1
SLURM_NODEID=0
SLURM_PROCID=0
SLURM_LOCALID=0
SLURM_STEP_NUM_TASKS=1
SLURM_STEP_NUM_NODES=1
SLURM_JOB_NODELIST=node
SLURM_NODELIST=node
SLURM_STEP_NODELIST=node
SLURM_ARRAY_TASK_ID=3
SLURM_ARRAY_TASK_COUNT=10
SLURM_ARRAY_JOB_ID=70
# Grid Engine, a task of an array
JOB_ID=4711
SGE_TASK_ID=3
SGE_TASK_LAST=10
NHOSTS=1
NSLOTS=8
# Quantization and data loading
GROUP_SIZE=128
GROUP_ID=3
AWQ_GROUP_SIZE=128
NUM_WORKERS=4
DATALOADER_NUM_WORKERS=8
GPU_NUMA_NODE=1
MAX_NODES=4
POETRY_GROUP_SIZE=4
# Weights & Biases, MLflow
WANDB_RUN_ID=3k2j
WANDB_AGENT_MAX_INITIAL_FAILURES=5
WANDB_SWEEP_ID=abc
MLFLOW_RUN_ID=0a1b
)";

/// Its name and its variables.
std::vector<std::pair<std::string, Texts>> surroundings() {
  std::vector<std::pair<std::string, Texts>> all;
  std::istringstream lines(kSurroundings);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (line.starts_with("# ")) {
      all.emplace_back(line.substr(2), Texts());
    } else if (equals != std::string::npos) {
      all.back().second[line.substr(0, equals)] = line.substr(equals + 1);
    }
  }
  return all;
}

TEST(InnocentEnvironments, AreOneNodeWithoutAWord) {
  const auto all = surroundings();
  EXPECT_GE(all.size(), 60U);
  for (const auto& [name, variables] : all) {
    const auto cluster = describe_cluster(node_with(variables), {});

    const std::string said = cluster ? join(cluster->notices, "\n") : cluster.error().message;
    EXPECT_EQ(cluster ? cluster->job.most_nodes : 0, 1) << name;
    EXPECT_EQ(said, "") << name;
  }
}

}  // namespace
}  // namespace muster
