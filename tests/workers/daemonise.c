// Becomes a daemon in the usual way: fork, setsid, fork, standard streams to /dev/null. The first
// process says "daemon <pid>" and ends with 0. With an argument the daemon's first thread ends, and a
// second one lives on.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void report_pid(int report) {
  const pid_t self = getpid();
  (void)!write(report, &self, sizeof self);
  close(report);
}

static int has_first_thread(void) {
  char stat[256] = "";
  const int file = open("/proc/self/stat", O_RDONLY);
  (void)!read(file, stat, sizeof stat - 1);
  close(file);
  return strstr(stat, ") Z ") == NULL;
}

static void* outlive_the_first_thread(void* report) {
  while (has_first_thread()) {
    usleep(1000);
  }
  report_pid(*(int*)report);
  pause();
  return NULL;
}

static void live_on_in_another_thread(int report) {
  static int descriptor;
  descriptor = report;
  pthread_t thread;
  if (pthread_create(&thread, NULL, outlive_the_first_thread, &descriptor) == 0) {
    syscall(SYS_exit, 0);  // of this thread alone
  }
}

static void live_as_a_daemon(int report, int leaves_first_thread) {
  const int null = open("/dev/null", O_RDWR);
  dup2(null, STDIN_FILENO);
  dup2(null, STDOUT_FILENO);
  dup2(null, STDERR_FILENO);
  close(null);
  if (leaves_first_thread) {
    live_on_in_another_thread(report);
  }
  report_pid(report);
  for (;;) {
    pause();
  }
}

int main(int argc, char** argv) {
  (void)argv;
  int report[2];
  if (pipe(report) != 0) {
    return 71;
  }
  if (fork() == 0) {
    setsid();
    if (fork() == 0) {
      live_as_a_daemon(report[1], argc > 1);
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
