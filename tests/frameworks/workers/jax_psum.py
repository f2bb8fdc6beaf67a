"""Sums over all processes of a job with JAX: `jax.distributed.initialize()` and a psum across hosts.

Nothing is handed over in the program: what JAX finds in its environment is all.
"""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec


def main():
    jax.distributed.initialize()
    index, count = jax.process_index(), jax.process_count()

    mesh = Mesh(jax.devices(), "all")
    everywhere, split = PartitionSpec(), PartitionSpec("all")
    own = jnp.full([jax.local_device_count()], float(index + 1))
    shares = jax.make_array_from_process_local_data(jax.NamedSharding(mesh, split), own)
    add_up = jax.shard_map(
        lambda share: jax.lax.psum(share, "all"), mesh=mesh, in_specs=split, out_specs=everywhere
    )
    total = float(jax.jit(add_up)(shares).addressable_data(0)[0])

    expected = count * (count + 1) / 2 * jax.local_device_count()
    assert total == expected, (total, expected)
    print(
        f"process {index} of {count}: psum {total:g} over {jax.device_count()} devices", flush=True
    )


main()
