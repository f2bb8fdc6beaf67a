// Tells a test what happens to it:  witness FOLDER [stubborn] [quick]
//
// Each thing that happens is one line of FOLDER/events, written at once:
//   <seconds of the monotonic clock> <what> <attempt> <global rank> <pid> [details]
// What is "started" (details: host, local rank, node rank, nodes, world size, master's address and
// port), "TERM" and so on for a signal, "overlap" (a worker of an older attempt is alive; details:
// its name), "told" before it ends by itself, and "orphan" when its launcher is gone.
//
// It ends with the exit code that the file FOLDER/end.<attempt>.<rank> holds, or 0 at the first
// TERM, INT, HUP or QUIT. A stubborn one ignores those; a quick one ends with 0 at once.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
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
  const int size = snprintf(line,
                            sizeof line,
                            "%ld.%06ld %s %s %s %d%s%s\n",
                            (long)now.tv_sec,
                            now.tv_nsec / 1000,
                            what,
                            variable("TORCHELASTIC_RESTART_COUNT"),
                            variable("RANK"),
                            (int)getpid(),
                            *details == '\0' ? "" : " ",
                            details);
  (void)!write(events, line, (size_t)size);
}

// Whoever lives holds a lock on a file of its own, and the kernel takes it away at its death.
static void hold_a_lock(void) {
  char path[4096];
  snprintf(path,
           sizeof path,
           "%s/alive.%s.%s.%d",
           folder,
           variable("TORCHELASTIC_RESTART_COUNT"),
           variable("RANK"),
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

// -1: nobody has said so yet.
static int code_to_end_with(void) {
  char path[4096];
  snprintf(path,
           sizeof path,
           "%s/end.%s.%s",
           folder,
           variable("TORCHELASTIC_RESTART_COUNT"),
           variable("RANK"));
  FILE* file = fopen(path, "re");
  int code = -1;
  if (file != NULL) {
    if (fscanf(file, "%d", &code) != 1) {
      code = -1;
    }
    fclose(file);
  }
  return code;
}

static void end(int code) {
  tell("told", "%d", code);
  fprintf(stderr, "rank %s ends with %d\n", variable("RANK"), code);
  exit(code);
}

int main(int argc, char** argv) {
  int is_stubborn = 0;
  int is_quick = 0;
  for (int i = 2; i < argc; ++i) {
    is_stubborn |= strcmp(argv[i], "stubborn") == 0;
    is_quick |= strcmp(argv[i], "quick") == 0;
  }
  if (argc < 2) {
    return 64;
  }
  folder = argv[1];
  char path[4096];
  snprintf(path, sizeof path, "%s/events", folder);
  events = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  sigset_t signals;
  sigemptyset(&signals);
  const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
    sigaddset(&signals, numbers[i]);
  }
  sigprocmask(SIG_BLOCK, &signals, NULL);
  look_for_the_living();
  hold_a_lock();
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  fprintf(stderr, "rank %s runs on %s\n", variable("RANK"), host);
  tell("started",
       "%s %s %s %s %s %s %s",
       host,
       variable("LOCAL_RANK"),
       variable("GROUP_RANK"),
       variable("GROUP_WORLD_SIZE"),
       variable("WORLD_SIZE"),
       variable("MASTER_ADDR"),
       variable("MASTER_PORT"));
  const pid_t parent = getppid();
  int is_orphan = 0;
  while (!is_quick) {
    const int number = sigtimedwait(&signals, NULL, &(struct timespec){0, 5000000});
    if (number > 0) {
      tell(sigabbrev_np(number), "");
      if (!is_stubborn) {
        return 0;
      }
    }
    if (!is_orphan && getppid() != parent) {
      is_orphan = 1;
      tell("orphan", "");
    }
    const int code = code_to_end_with();
    if (code >= 0) {
      end(code);
    }
  }
  end(0);
}
