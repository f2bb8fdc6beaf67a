"""A parameter-server training by arguments, as TensorFlow 1 had them: every worker trains, no chief.

usage: tf_ps_arguments.py --job_name ps|worker --task_index I --ps_hosts LIST --worker_hosts LIST

A list is `a:1,b:2` or `[a:1,b:2]`. A server waits for ever; a worker ends when the training does.
"""

import argparse
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import tensorflow.compat.v1 as tf

STEPS = 60
FEATURES = 4


def hosts(text):
    return text.strip("[]").split(",")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--job_name", choices=["ps", "worker"], required=True)
    parser.add_argument("--task_index", type=int, required=True)
    parser.add_argument("--ps_hosts", type=hosts, required=True)
    parser.add_argument("--worker_hosts", type=hosts, required=True)
    arguments = parser.parse_args()

    tf.disable_v2_behavior()
    cluster = tf.train.ClusterSpec({"ps": arguments.ps_hosts, "worker": arguments.worker_hosts})
    server = tf.train.Server(cluster, arguments.job_name, arguments.task_index)
    if arguments.job_name == "ps":
        server.join()
    else:
        train(cluster, server, arguments.task_index)


def train(cluster, server, index):
    """Between-graph replication: each worker for itself, on parameters that all of them share."""
    own = f"/job:worker/task:{index}"
    with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device=own)):
        weights = tf.get_variable("weights", [FEATURES, 1], initializer=tf.zeros_initializer())
        steps = tf.train.get_or_create_global_step()
        inputs = tf.random.stateless_normal([32, FEATURES], [index, 1])
        targets = tf.reduce_sum(inputs, 1, keepdims=True)
        loss = tf.reduce_mean(tf.square(tf.matmul(inputs, weights) - targets))
        update = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=steps)

    # A worker that ends does not take the session of another with it.
    settings = tf.ConfigProto(device_filters=["/job:ps", own])
    with tf.Session(server.target, config=settings) as session:
        if index == 0:
            session.run(tf.global_variables_initializer())
        while session.run(tf.report_uninitialized_variables()).size:  # the first worker's task
            time.sleep(0.1)
        first = session.run(loss)
        for _ in range(STEPS):
            last, _ = session.run([loss, update])
    print(
        f"worker {index} of {cluster.num_tasks('worker')}: loss {first:.3f} -> {last:.3f}",
        flush=True,
    )
    assert last < 0.01, last


main()
