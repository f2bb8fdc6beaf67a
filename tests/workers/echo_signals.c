// Says "ready", then "got TERM" and so on for every signal that arrives. With an exit code as
// its argument it ends with it at the first TERM, INT, HUP or QUIT; else only KILL ends it.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT};
  sigset_t signals;
  sigemptyset(&signals);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
    sigaddset(&signals, numbers[i]);
  }
  sigprocmask(SIG_BLOCK, &signals, NULL);
  dprintf(STDOUT_FILENO, "ready\n");
  for (;;) {
    const int number = sigwaitinfo(&signals, NULL);
    if (number < 0) {
      continue;
    }
    dprintf(STDOUT_FILENO, "got %s\n", sigabbrev_np(number));
    const int asks_to_end = number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT;
    if (argc > 1 && asks_to_end) {
      return atoi(argv[1]);
    }
  }
}
