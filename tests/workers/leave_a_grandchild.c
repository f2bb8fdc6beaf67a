// Starts a child that sleeps, says "left <pid>" and ends with 0 without it. ARG1 may be
// "session" (the child leads a session of its own) or "stubborn" (it ignores TERM, too).
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const int stubborn = argc > 1 && strcmp(argv[1], "stubborn") == 0;
  int ready[2];
  if (pipe(ready) != 0) {
    return 71;
  }
  const pid_t child = fork();
  if (child == 0) {
    if (argc > 1) {
      setsid();
    }
    if (stubborn) {
      signal(SIGTERM, SIG_IGN);
    }
    close(ready[0]);
    close(ready[1]);
    for (;;) {
      pause();
    }
  }
  close(ready[1]);
  char nothing;
  (void)!read(ready[0], &nothing, 1);  // the end of the pipe: the child is as it shall be
  printf("left %d\n", (int)child);
  return 0;
}
