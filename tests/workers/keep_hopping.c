// Escapes by forking: every ARG1 milliseconds it forks, the child starts a session of its own and
// continues, and the parent ends. It ignores TERM and prints "ready" once. Ends after ten seconds.
// The worker itself ends with 0 after the first fork.
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const long milliseconds = argc > 1 ? atol(argv[1]) : 20;
  signal(SIGTERM, SIG_IGN);
  (void)!write(STDOUT_FILENO, "ready\n", 6);
  for (long hop = 0; hop * milliseconds < 10000; ++hop) {
    if (fork() > 0) {
      _exit(0);
    }
    setsid();
    nanosleep(&(struct timespec){0, milliseconds * 1000000}, NULL);
  }
  return 0;
}
