// Asks MPI for threads, meets the others, and says what it got. For scripts/dev/bench, too.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int given = -1;
  int rank = 0;
  int size = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d of %d: threads %s\n", rank, size, given == MPI_THREAD_MULTIPLE ? "multiple" : "fewer");
  MPI_Finalize();
  return 0;
}
