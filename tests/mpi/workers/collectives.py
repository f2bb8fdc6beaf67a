"""Runs MPI's collectives and checks their results; the last line of each rank says that it did."""

import os
import sys

import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()

total = numpy.zeros(1000)
world.Allreduce(numpy.full(1000, rank + 1.0), total)
assert (total == size * (size + 1) / 2).all()

got = numpy.empty(size, "i")
world.Alltoall(numpy.array([rank * 1000 + other for other in range(size)], "i"), got)
assert got.tolist() == [other * 1000 + rank for other in range(size)]

# Larger than what is sent at once, around a ring.
message = numpy.full(1 << 18, rank, "i")
arrived = numpy.empty_like(message)
world.Sendrecv(message, (rank + 1) % size, 7, arrived, (rank - 1) % size, 7)
assert (arrived == (rank - 1) % size).all()

parity = world.Split(rank % 2, -rank)  # the last rank first
assert parity.Get_size() == (size + 1 - rank % 2) // 2
assert parity.allgather(rank) == list(range(rank % 2, size, 2))[::-1]

node = world.Split_type(MPI.COMM_TYPE_SHARED)
assert set(node.allgather(os.uname().nodename)) == {os.uname().nodename}
assert node.Get_size() == int(os.environ["OMPI_COMM_WORLD_LOCAL_SIZE"])

hosts = len(set(world.allgather(os.uname().nodename)))
world.Barrier()
# One write a line: mpirun's own output is a stream of pieces.
sys.stdout.write(f"rank {rank} of {size} on {hosts} hosts: all is right\n")
sys.stdout.flush()
