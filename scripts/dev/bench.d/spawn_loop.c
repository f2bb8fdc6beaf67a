// The ruler of scripts/dev/bench: starts COUNT copies of a command with posix_spawn, waits for all of
// them, and prints how long that took, from before the first start to after the last end, and the page faults.
//
//   spawn_loop COUNT COMMAND...   ->   {"wall": seconds, "cpu": seconds, "faults": count, "failed": count}
//
// With a count it is the bare loop that launchers are compared with; with a count of one and a
// launcher as the command it measures the launcher. The commands have /dev/null as standard input
// and output, and this program's standard error. CPU and page faults are those of the commands, of all that
// they waited for, and of the loop itself.
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char** environ;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double cpu_of(int who) {
  struct rusage usage;
  getrusage(who, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static long faults_of(int who) {
  struct rusage usage;
  getrusage(who, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

int main(int argc, char** argv) {
  if (argc < 3 || atol(argv[1]) < 1) {
    fprintf(stderr, "usage: spawn_loop COUNT COMMAND...\n");
    return 64;
  }
  const long count = atol(argv[1]);
  FILE* const report = fdopen(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10), "w");
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (report == NULL || null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0) {
    perror("spawn_loop");
    return 71;
  }

  const double cpu_before = cpu_of(RUSAGE_SELF);
  const long faults_before = faults_of(RUSAGE_SELF);
  const double begin = now();
  long started = 0;
  long failed = 0;
  for (long i = 0; i < count; i++) {
    pid_t pid;
    const int error = posix_spawnp(&pid, argv[2], NULL, NULL, argv + 2, environ);
    if (error != 0) {
      fprintf(stderr, "spawn_loop: cannot start '%s': %s\n", argv[2], strerror(error));
      failed++;
    } else {
      started++;
    }
  }
  for (; started > 0; started--) {
    int status;
    if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      failed++;
    }
  }
  const double wall = now() - begin;
  const double cpu = cpu_of(RUSAGE_CHILDREN) + cpu_of(RUSAGE_SELF) - cpu_before;

  const long faults = faults_of(RUSAGE_CHILDREN) + faults_of(RUSAGE_SELF) - faults_before;

  fprintf(report, "{\"wall\": %.6f, \"cpu\": %.6f, \"faults\": %ld, \"failed\": %ld}\n", wall, cpu, faults, failed);
  return 0;
}
