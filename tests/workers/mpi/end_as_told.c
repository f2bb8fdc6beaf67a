// A rank of MPI that meets the others, says so, waits for a word of the test, and ends as it is told.
//
//   end_as_told FOLDER [RANK=HOW]...    HOW: exit7, abort5, segv, or ignore, which ignores TERM and waits
//
// Each rank leaves a process in a session of its own, which has the rank's output open. The word is that somebody opens FOLDER/rank-N for writing.
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char* how_of(int rank, int argc, char** argv) {
  for (int i = 2; i < argc; ++i) {
    char* how = NULL;
    if (strtol(argv[i], &how, 10) == rank && *how == '=')
      return how + 1;
  }
  return "";
}

static void leave_a_process(void) {
  if (fork() != 0)
    return;
  setsid();
  execlp("sleep", "sleep", "1000", NULL);
  _exit(127);
}

static void wait_for_the_word(const char* folder, int rank) {
  char path[4096];
  char hidden[4096];
  snprintf(path, sizeof path, "%s/rank-%d", folder, rank);
  snprintf(hidden, sizeof hidden, "%s/.rank-%d", folder, rank);
  if (mkfifo(hidden, 0600) != 0 || rename(hidden, path) != 0)
    _exit(99);
  if (open(path, O_RDONLY) < 0)
    _exit(99);
}

int main(int argc, char** argv) {
  int rank = 0;
  leave_a_process();
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* how = how_of(rank, argc, argv);
  signal(SIGTERM, strcmp(how, "ignore") == 0 ? SIG_IGN : SIG_DFL);
  MPI_Barrier(MPI_COMM_WORLD);
  wait_for_the_word(argv[1], rank);
  if (strncmp(how, "exit", 4) == 0)
    _exit(atoi(how + 4));
  if (strncmp(how, "abort", 5) == 0)
    MPI_Abort(MPI_COMM_WORLD, atoi(how + 5));
  if (strcmp(how, "segv") == 0) {
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
  }
  MPI_Finalize();
  return 0;
}
