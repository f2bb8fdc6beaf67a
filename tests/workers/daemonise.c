// Becomes a daemon by the book: fork, setsid, fork, standard streams to /dev/null. The first
// process says "daemon <pid>" and ends with 0.
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static void live_as_a_daemon(int report) {
  const int null = open("/dev/null", O_RDWR);
  dup2(null, STDIN_FILENO);
  dup2(null, STDOUT_FILENO);
  dup2(null, STDERR_FILENO);
  close(null);
  const pid_t self = getpid();
  (void)!write(report, &self, sizeof self);
  close(report);
  for (;;) {
    pause();
  }
}

int main(void) {
  int report[2];
  if (pipe(report) != 0) {
    return 71;
  }
  if (fork() == 0) {
    setsid();
    if (fork() == 0) {
      live_as_a_daemon(report[1]);
    }
    _exit(0);
  }
  pid_t daemon = 0;
  if (read(report[0], &daemon, sizeof daemon) != sizeof daemon) {
    return 71;
  }
  printf("daemon %d\n", (int)daemon);
  return 0;
}
