"""A parameter-server training of TensorFlow 2: a chief with a ClusterCoordinator, workers, servers.

TF_CONFIG says who is who; nothing in here knows which launcher wrote it. The chief trains on all
workers, with the parameters on all servers, and prints the loss. The others serve and never end:
whoever started them ends them. With `--fail ROLE:INDEX` that task ends with code 7 when its server
runs, and with `--wait` the chief trains without an end and says so.
"""

import argparse
import json
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import tensorflow as tf

STEPS = 60
FEATURES = 4


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fail", default="")
    parser.add_argument("--wait", action="store_true")
    arguments, _ = parser.parse_known_args()  # a launcher may add arguments of another contract
    tf.config.threading.set_inter_op_parallelism_threads(2)  # more is slower on a few cores
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    task = f"{resolver.task_type}:{resolver.task_id}"
    if resolver.task_type == "chief":
        train(resolver, arguments.wait)
    else:
        server = tf.distribute.Server(
            resolver.cluster_spec(),
            job_name=resolver.task_type,
            task_index=resolver.task_id,
            protocol="grpc",
        )
        print(f"{task} serves at {server.target}", flush=True)
        if arguments.fail == task:
            os._exit(7)
        server.join()


def train(resolver, forever):
    servers = len(resolver.cluster_spec().as_dict()["ps"])
    strategy = tf.distribute.experimental.ParameterServerStrategy(
        resolver,
        variable_partitioner=tf.distribute.experimental.partitioners.FixedShardsPartitioner(
            servers
        ),
    )
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        weights = tf.Variable(tf.zeros([FEATURES, 1]))  # a part of it on every server

    @tf.function
    def step(seed):
        inputs = tf.random.stateless_normal([32, FEATURES], [seed, 0])
        with tf.GradientTape() as tape:
            error = tf.matmul(inputs, tf.convert_to_tensor(weights)) - tf.reduce_sum(
                inputs, 1, keepdims=True
            )
            loss = tf.reduce_mean(tf.square(error))
        parts = list(weights.variables)
        for part, gradient in zip(parts, tape.gradient(loss, parts)):
            part.assign_sub(0.1 * gradient)
        return loss

    losses = []
    while len(losses) < STEPS or forever:
        results = [
            coordinator.schedule(step, args=(tf.constant(len(losses) + i),)) for i in range(2)
        ]
        coordinator.join()
        losses += [float(result.fetch()) for result in results]
        if forever and len(losses) == 4:
            print("the chief trains", flush=True)

    cluster = {name: len(hosts) for name, hosts in resolver.cluster_spec().as_dict().items()}
    places = {part.device for part in weights.variables}
    sizes = json.dumps(cluster, sort_keys=True)
    print(f"{sizes}: loss {losses[0]:.3f} -> {losses[-1]:.3f}", flush=True)
    assert losses[-1] < 0.01 * losses[0], losses
    assert len(places) == servers, places


main()
