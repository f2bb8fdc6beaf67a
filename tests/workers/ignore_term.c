// Ignores the stop signals, prints "ready", and waits for KILL.
#include <signal.h>
#include <unistd.h>

int main(void) {
  signal(SIGTERM, SIG_IGN);
  signal(SIGINT, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  signal(SIGQUIT, SIG_IGN);
  (void)!write(STDOUT_FILENO, "ready\n", 6);
  for (;;) {
    pause();
  }
}
