// Says "stopping <pid>", stops itself, and once somebody continues it says "continued" and ends.
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
  dprintf(STDOUT_FILENO, "stopping %d\n", (int)getpid());
  raise(SIGSTOP);
  dprintf(STDOUT_FILENO, "continued\n");
  return 0;
}
