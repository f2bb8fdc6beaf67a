// The worker of global rank ARG1 ends with exit code ARG2; the others say "waiting" and wait to be
// stopped. With a third argument the first waits for that file to appear.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 3) {
    return 64;
  }
  const char* rank = getenv("RANK");
  if (rank == NULL || atoi(rank) != atoi(argv[1])) {
    dprintf(STDOUT_FILENO, "waiting\n");
    for (;;) {
      pause();
    }
  }
  while (argc > 3 && access(argv[3], F_OK) != 0) {
    nanosleep(&(struct timespec){0, 2000000}, NULL);
  }
  fprintf(stderr, "rank %s gives up\n", rank);
  return atoi(argv[2]);
}
