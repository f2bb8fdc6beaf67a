// Leaves its own process group for that of its parent, says "ready <pid>" and waits for any signal.
#include <stdio.h>
#include <unistd.h>

int main(void) {
  if (setpgid(0, getpgid(getppid())) != 0) {
    perror("setpgid");
    return 71;
  }
  dprintf(STDOUT_FILENO, "ready %d\n", (int)getpid());
  for (;;) {
    pause();
  }
}
