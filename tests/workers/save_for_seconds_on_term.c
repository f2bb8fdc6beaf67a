// Says "ready"; on TERM says "saving", needs ARG1 seconds for it, says "saved" and ends with 0.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char** argv) {
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  sigprocmask(SIG_BLOCK, &term, NULL);
  dprintf(STDOUT_FILENO, "ready\n");
  int number = 0;
  sigwait(&term, &number);
  dprintf(STDOUT_FILENO, "saving\n");
  const double seconds = argc > 1 ? atof(argv[1]) : 1;
  struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  while (nanosleep(&left, &left) != 0) {
  }
  dprintf(STDOUT_FILENO, "saved\n");
  return 0;
}
