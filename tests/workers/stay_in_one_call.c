// Stays in one uninterruptible system call until its child ends: vfork(2) returns no sooner, and the kernel shows state
// D. Rank 1 does, for the seconds of its argument; then, and in the other ranks, it waits for a signal.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char** arguments) {
  const char* const rank = getenv("RANK");
  if (count > 1 && rank != NULL && strcmp(rank, "1") == 0) {
    dprintf(STDOUT_FILENO, "waits\n");
    if (vfork() == 0) {
      sleep((unsigned)atoi(arguments[1]));
      _exit(0);
    }
  }
  pause();
  return 0;
}
