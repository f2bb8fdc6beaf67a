"""Trains with TensorFlow's MultiWorkerMirroredStrategy on the workers that TF_CONFIG lists.

All workers compute one loss together, and each prints it.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import tensorflow as tf

STEPS = 20
FEATURES = 4


def main():
    strategy = tf.distribute.MultiWorkerMirroredStrategy()  # first: it starts the server
    with strategy.scope():
        weights = tf.Variable(tf.zeros([FEATURES, 1]))

    def loss_of_replica(inputs):
        with tf.GradientTape() as tape:
            error = tf.matmul(inputs, weights) - tf.reduce_sum(inputs, 1, keepdims=True)
            loss = tf.reduce_mean(tf.square(error)) / strategy.num_replicas_in_sync
        context = tf.distribute.get_replica_context()
        gradient = context.all_reduce(tf.distribute.ReduceOp.SUM, tape.gradient(loss, weights))
        weights.assign_sub(0.1 * gradient)
        return loss

    @tf.function
    def step(inputs):
        losses = strategy.run(loss_of_replica, args=(inputs,))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

    index = strategy.cluster_resolver.task_id
    inputs = tf.random.stateless_normal([32, FEATURES], [index, 0])
    losses = [float(step(inputs)) for _ in range(STEPS)]
    print(
        f"worker {index} of {strategy.num_replicas_in_sync}: "
        f"loss {losses[0]:.4f} -> {losses[-1]:.6f}",
        flush=True,
    )
    assert losses[-1] < 0.1 * losses[0], losses


main()
