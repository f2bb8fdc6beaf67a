// Prints its process attributes at its start, one "name value" to a line: ids, limits, signals, file
// descriptors, CPUs, memory policy, arguments and environment. With a directory as ARG1 it writes to the file of its
// global rank there, else to standard output.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char** environ;

static char text[1 << 18];
static size_t used = 0;

#define SAY(...) (used += (size_t)snprintf(text + used, sizeof text - used, __VA_ARGS__))

// First of all: what follows would open descriptors of its own.
static void describe_descriptors(void) {
  DIR* folder = opendir("/proc/self/fd");
  for (struct dirent* entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
    const int fd = atoi(entry->d_name);
    if (entry->d_name[0] == '.' || fd == dirfd(folder)) {
      continue;
    }
    char target[256] = "";
    (void)!readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
    SAY("fd %d %s\n", fd, target);
  }
  closedir(folder);
}

static void describe_ids(void) {
  int parent_death = 0;
  prctl(PR_GET_PDEATHSIG, &parent_death);
  SAY("pid %d\nparent %d\ngroup %d\nsession %d\nparent_death_signal %d\n", (int)getpid(), (int)getppid(),
      (int)getpgrp(), (int)getsid(0), parent_death);
  SAY("foreground %s\n", tcgetpgrp(STDIN_FILENO) == getpgrp() ? "yes" : "no");
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  SAY("descriptor_limit %lu %lu\n", (unsigned long)files.rlim_cur, (unsigned long)files.rlim_max);
}

static void describe_signals(void) {
  sigset_t blocked;
  sigprocmask(SIG_BLOCK, NULL, &blocked);
  for (int number = 1; number <= 64; ++number) {
    struct sigaction action;
    if (number == 32 || number == 33 || sigaction(number, NULL, &action) != 0) {
      continue;
    }
    if (action.sa_handler == SIG_IGN) {
      SAY("ignored %d\n", number);
    }
    if (sigismember(&blocked, number) == 1) {
      SAY("blocked %d\n", number);
    }
  }
}

// The policy is that of set_mempolicy(2): 0 default, 1 preferred, 2 bound; then a mask of 64 nodes.
static void describe_binding(void) {
  cpu_set_t cpus;
  sched_getaffinity(0, sizeof cpus, &cpus);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &cpus)) {
      SAY("cpu %d\n", cpu);
    }
  }
  int policy = -1;
  unsigned long nodes[128] = {0};
  if (syscall(SYS_get_mempolicy, &policy, nodes, sizeof nodes * 8, NULL, 0UL) == 0) {
    SAY("memory_policy %d %lu\n", policy, nodes[0]);
  }
}

static void describe_words(char** argv) {
  for (int i = 0; argv[i] != NULL; ++i) {
    SAY("argument %s\n", argv[i]);
  }
  for (char** entry = environ; *entry != NULL; ++entry) {
    SAY("variable %s\n", *entry);
  }
}

int main(int argc, char** argv) {
  describe_descriptors();
  describe_ids();
  describe_signals();
  describe_binding();
  describe_words(argv);
  int output = STDOUT_FILENO;
  const char* rank = getenv("RANK");
  if (argc > 1 && rank != NULL) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", argv[1], rank);
    output = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  }
  return write(output, text, used) == (ssize_t)used ? 0 : 71;
}
