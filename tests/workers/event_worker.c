// Reports its events to a test:  event_worker FOLDER [WORD...]
//
// Each thing that happens is one line of FOLDER/events, written at once:
//   <seconds of the monotonic clock> <what> <attempt> <global rank> <pid> [details]
// The field <what> is "started" (details: host, local rank, node rank, nodes, world size, master's address and
// port, and $TEST_AGENT), "TERM" and so on for a signal, "overlap" (a worker of an older attempt is alive; details:
// its name), "told" before it ends by itself, and "orphan" when its launcher is gone.
//
// It ends with the exit code that the file FOLDER/end.<attempt>.<rank> holds, or 0 at the first
// TERM, INT, HUP or QUIT. The file may say "<code> <seconds>": not before it has run for so long. A
// code below 0 is the number of a signal by which it ends. The words:
//   stubborn  ignores those signals
//   sour      ends with 7 at the first of them
//   quick     ends with 0 at once
//   calm      looks for the file ten times a second instead of two hundred times
//   chatty    writes two lines each time it looks
//   silent    closes its standard streams once it has started
//   parent    has a child in its group that ignores TERM
//   daemons   has a daemon in a session of its own, and one more whose environment is empty
//
// Its lock is its children's as well: until all of them are gone, it counts as alive.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char* folder;
static int events;

static const char* variable(const char* name) {
  const char* value = getenv(name);
  return value == NULL || *value == '\0' ? "?" : value;
}

static void tell(const char* what, const char* format, ...) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  char details[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(details, sizeof details, format, arguments);
  va_end(arguments);
  char line[1024];
  const int size = snprintf(line, sizeof line, "%ld.%06ld %s %s %s %d%s%s\n", (long)now.tv_sec, now.tv_nsec / 1000,
                            what, variable("TORCHELASTIC_RESTART_COUNT"), variable("RANK"), (int)getpid(),
                            *details == '\0' ? "" : " ", details);
  (void)!write(events, line, (size_t)size);
}

// Locks a file of this process's own. The kernel releases the lock at its death, so a locked file means a live process.
static void hold_a_lock(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s/alive.%s.%s.%d", folder, variable("TORCHELASTIC_RESTART_COUNT"), variable("RANK"),
           (int)getpid());
  const int lock = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  flock(lock, LOCK_EX);
}

static void look_for_the_living(void) {
  const int attempt = atoi(variable("TORCHELASTIC_RESTART_COUNT"));
  DIR* all = opendir(folder);
  for (struct dirent* entry = readdir(all); entry != NULL; entry = readdir(all)) {
    int other = 0;
    if (sscanf(entry->d_name, "alive.%d.", &other) != 1 || other >= attempt) {
      continue;
    }
    const int lock = openat(dirfd(all), entry->d_name, O_RDONLY | O_CLOEXEC);
    if (lock >= 0 && flock(lock, LOCK_SH | LOCK_NB) != 0) {
      tell("overlap", "%s", entry->d_name);
    }
    close(lock);
  }
  closedir(all);
}

enum {
  kNotYet = 1000
};

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int code_to_end_with(double running_for) {
  char path[4096];
  snprintf(path, sizeof path, "%s/end.%s.%s", folder, variable("TORCHELASTIC_RESTART_COUNT"), variable("RANK"));
  FILE* file = fopen(path, "re");
  int code = kNotYet;
  double after = 0;
  if (file != NULL) {
    if (fscanf(file, "%d %lf", &code, &after) < 1 || running_for < after) {
      code = kNotYet;
    }
    fclose(file);
  }
  return code;
}

static void end_by_signal(int number) {
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  signal(number, SIG_DFL);
  raise(number);
}

static void end(int code) {
  tell("told", "%d", code);
  fprintf(stderr, "rank %s ends with %d\n", variable("RANK"), code);
  if (code < 0) {
    end_by_signal(-code);
  }
  exit(code);
}

static void live_without_streams(void) {
  const int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd <= 2; ++fd) {
    dup2(null, fd);
  }
  close(null);
}

// The signals of the event_worker are blocked in it as well, so it ignores them all.
static void have_a_child(void) {
  if (fork() == 0) {
    for (;;) {
      pause();
    }
  }
}

static void have_a_daemon(const char* program, int is_nameless) {
  const pid_t between = fork();
  if (between == 0) {
    setsid();
    if (fork() == 0) {
      live_without_streams();
      char* const arguments[] = {(char*)program, (char*)"nameless", NULL};
      char* const environment[] = {NULL};
      if (is_nameless) {
        execve("/proc/self/exe", arguments, environment);
      }
      for (;;) {
        pause();
      }
    }
    _exit(0);
  }
  waitpid(between, NULL, 0);
}

struct manners {
  int stubborn, sour, quick, calm, chatty, silent, parent, daemons;
};

static struct manners manners_of(int argc, char** argv) {
  struct manners its = {0};
  const struct {
    const char* word;
    int* flag;
  } known[] = {{"stubborn", &its.stubborn}, {"sour", &its.sour},      {"quick", &its.quick},
               {"calm", &its.calm},         {"chatty", &its.chatty},  {"silent", &its.silent},
               {"parent", &its.parent},     {"daemons", &its.daemons}};
  for (int i = 2; i < argc; ++i) {
    for (size_t j = 0; j < sizeof known / sizeof *known; ++j) {
      *known[j].flag |= strcmp(argv[i], known[j].word) == 0;
    }
  }
  return its;
}

static void begin(const sigset_t* signals) {
  char path[4096];
  snprintf(path, sizeof path, "%s/events", folder);
  events = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  sigprocmask(SIG_BLOCK, signals, NULL);
  look_for_the_living();
  hold_a_lock();
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  fprintf(stderr, "rank %s runs on %s\n", variable("RANK"), host);
  tell("started", "%s %s %s %s %s %s %s %s", host, variable("LOCAL_RANK"), variable("GROUP_RANK"),
       variable("GROUP_WORLD_SIZE"), variable("WORLD_SIZE"), variable("MASTER_ADDR"), variable("MASTER_PORT"),
       variable("TEST_AGENT"));
}

static void grow(const char* program, struct manners its) {
  if (its.parent) {
    have_a_child();
  }
  if (its.daemons) {
    have_a_daemon(program, 0);
    have_a_daemon(program, 1);
  }
  if (its.silent) {
    live_without_streams();
  }
}

static void live(const sigset_t* signals, struct manners its) {
  const double started = seconds_now();
  const struct timespec between = {0, its.calm ? 100000000 : 5000000};
  const pid_t parent = getppid();
  int is_orphan = 0;
  for (;;) {
    const int number = sigtimedwait(signals, NULL, &between);
    if (number > 0) {
      tell(sigabbrev_np(number), "");
      if (!its.stubborn) {
        exit(its.sour ? 7 : 0);
      }
    }
    if (!is_orphan && getppid() != parent) {
      is_orphan = 1;
      tell("orphan", "");
    }
    if (its.chatty) {
      printf("rank %s is at work\n", variable("RANK"));
      fflush(stdout);
      fprintf(stderr, "rank %s has something to say\n", variable("RANK"));
    }
    const int code = code_to_end_with(seconds_now() - started);
    if (code != kNotYet) {
      end(code);
    }
  }
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "nameless") == 0) {
    for (;;) {
      pause();
    }
  }
  if (argc < 2) {
    return 64;
  }
  folder = argv[1];
  sigset_t signals;
  sigemptyset(&signals);
  const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
    sigaddset(&signals, numbers[i]);
  }
  const struct manners its = manners_of(argc, argv);
  begin(&signals);
  grow(argv[0], its);
  if (its.quick) {
    end(0);
  }
  live(&signals, its);
}
