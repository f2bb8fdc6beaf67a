// Starts processes that are hard to end. All of them ignore TERM, INT, HUP, QUIT, USR1,
// USR2 and PIPE. Prints "<pid> <name>" for each and then "ready":
//
//   body     the worker itself
//   child    in the worker's own process group
//   stopped  in that group too, stopped
//   daemon   forked twice, in a session of its own, without the worker's streams
//   frozen   a daemon that is stopped
//   nameless a daemon whose environment is empty, so no marker tells whose it is
//   deep     the grandchild of a daemon, in yet another session
//
// With an exit code as its argument the body ends with it once all are there.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int ready[2];

static void ignore_polite_signals(void) {
  const int polite[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE};
  for (size_t i = 0; i < sizeof polite / sizeof *polite; ++i) {
    signal(polite[i], SIG_IGN);
  }
}

static void sleep_for_ever(void) {
  for (;;) {
    pause();
  }
}

static void announce(const char* name) {
  char line[64];
  const int size = snprintf(line, sizeof line, "%d %s\n", (int)getpid(), name);
  (void)!write(ready[1], line, (size_t)size);
  close(ready[0]);
  close(ready[1]);
}

static void drop_the_streams(void) {
  const int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd <= 2; ++fd) {
    dup2(null, fd);
  }
  close(null);
}

static void be_child(void) {
  announce("child");
  sleep_for_ever();
}

static void be_stopped(void) {
  announce("stopped");
  for (;;) {
    raise(SIGSTOP);
  }
}

static void be_daemon(void) {
  drop_the_streams();
  announce("daemon");
  sleep_for_ever();
}

static void be_frozen(void) {
  drop_the_streams();
  announce("frozen");
  for (;;) {
    raise(SIGSTOP);
  }
}

static void be_nameless(void) {
  drop_the_streams();
  announce("nameless");
  char* const argv[] = {(char*)"stubborn_tree", (char*)"nameless", NULL};
  char* const environment[] = {NULL};
  execve("/proc/self/exe", argv, environment);
  _exit(71);
}

static void be_deep(void) {
  if (fork() != 0) {
    sleep_for_ever();
  }
  setsid();
  drop_the_streams();
  announce("deep");
  sleep_for_ever();
}

static void grow(void (*be)(void)) {
  if (fork() == 0) {
    be();
    _exit(71);
  }
}

static void grow_daemon(void (*be)(void)) {
  const pid_t between = fork();
  if (between == 0) {
    setsid();
    grow(be);
    _exit(0);
  }
  waitpid(between, NULL, 0);
}

// Passes on what they print, and ends when each has printed it.
static void wait_for_processes(int count) {
  char text[1024];
  size_t used = 0;
  while (count > 0) {
    const ssize_t size = read(ready[0], text + used, sizeof text - used);
    if (size <= 0) {
      _exit(71);
    }
    for (ssize_t i = 0; i < size; ++i) {
      count -= text[used + (size_t)i] == '\n';
    }
    used += (size_t)size;
  }
  dprintf(STDOUT_FILENO, "%.*s%d body\nready\n", (int)used, text, (int)getpid());
}

int main(int argc, char** argv) {
  ignore_polite_signals();
  if (argc > 1 && strcmp(argv[1], "nameless") == 0) {
    sleep_for_ever();
  }
  if (pipe2(ready, O_CLOEXEC) != 0) {
    return 71;
  }
  grow(be_child);
  grow(be_stopped);
  grow_daemon(be_daemon);
  grow_daemon(be_frozen);
  grow_daemon(be_nameless);
  grow_daemon(be_deep);
  wait_for_processes(6);
  if (argc > 1) {
    return atoi(argv[1]);
  }
  sleep_for_ever();
}
