/* SPDX-License-Identifier: Apache-2.0 */
/* C and C++ functions for programs that muster starts: suspend, heartbeats and progress; docs/control.md.
 *
 *     if (muster_receive_suspend_command()) {
 *       save();
 *       muster_go_suspend();
 *     }
 *
 * Each function does nothing where muster did not start the program, or where the files it needs are missing. Times are
 * unix time in seconds. At most one thread at a time may call them. A forked process continues to use what its parent
 * has opened; each source file that includes this header opens the files separately.
 *
 * C99 or C++11, Linux. Uses only what system headers declare without feature macros: they may be included before. */
#ifndef MUSTER_H
#define MUSTER_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

#define MUSTER_RECORD_BYTES_ 4096
#define MUSTER_TEXT_AT_ 40
#define MUSTER_TEXT_BYTES_ 1024
#define MUSTER_ANSWER_SECONDS_ 5.0

static inline double muster_now_(void) {
  struct timeval now;
  gettimeofday(&now, NULL);
  return (double)now.tv_sec + (double)now.tv_usec * 1e-6;
}

static inline int muster_open_(const char* path, int flags) {
  const int file = open(path, flags, 0600);
  if (file >= 0)
    fcntl(file, F_SETFD, FD_CLOEXEC);
  return file;
}

/* Maps the first `bytes` of the file; a new file begins with `content`. NULL on failure. The content is written,
 * rather than the file only extended, so that a full disk fails here and not at a later store to the mapping. */
static inline unsigned char* muster_map_(const char* path, int flags, const unsigned char* content, size_t bytes,
                                         int protection) {
  struct stat status;
  void* page = MAP_FAILED;
  const int file = muster_open_(path, flags | O_RDWR | O_CREAT);
  if (file < 0)
    return NULL;
  if (fstat(file, &status) == 0 && (status.st_size >= (off_t)bytes || write(file, content, bytes) == (ssize_t)bytes))
    page = mmap(NULL, bytes, protection, MAP_SHARED, file, 0);
  close(file);
  return page == MAP_FAILED ? NULL : (unsigned char*)page;
}

static inline unsigned char* muster_open_flag_(void) {
  static unsigned char nothing = 0;
  const char* notice = getenv("MUSTER_SUSPEND_FILE");
  const char* slash = notice ? strrchr(notice, '/') : NULL;
  unsigned char* flag;
  char path[4096];
  if (!slash || slash - notice > (long)sizeof path - 16)
    return &nothing;
  sprintf(path, "%.*s/suspend.flag", (int)(slash - notice), notice);
  /* O_APPEND: writes after a 1 that muster may be writing now, not over it. */
  flag = muster_map_(path, O_APPEND, &nothing, 1, PROT_READ);
  return flag ? flag : &nothing;
}

/* Tells whether the job is to save and end (1), by reading one byte of memory. A withdrawn notice gives 0 again. */
static inline int muster_receive_suspend_command(void) {
  static volatile unsigned char* flag = NULL;
  if (!flag)
    flag = muster_open_flag_();
  return *flag == 1;
}

/* Parses the number at the start of `text`, in any locale. */
static inline double muster_number_(const char* text) {
  double value = 0;
  int exponent = 0;
  int given = 0;
  int is_fraction = 0;
  int is_negative;
  for (; (*text >= '0' && *text <= '9') || (*text == '.' && !is_fraction); ++text) {
    if (*text == '.') {
      is_fraction = 1;
    } else {
      value = value * 10 + (*text - '0');
      exponent -= is_fraction;
    }
  }
  if (*text == 'e' || *text == 'E') {
    is_negative = *++text == '-';
    if (*text == '-' || *text == '+')
      ++text;
    for (; *text >= '0' && *text <= '9' && given < 400; ++text)
      given = given * 10 + (*text - '0');
    exponent += is_negative ? -given : given;
  }
  for (; exponent > 0; --exponent)
    value *= 10;
  if (exponent < 0) {
    double divisor = 1;
    for (; exponent < 0; ++exponent)
      divisor *= 10;
    value /= divisor;
  }
  return value;
}

/* Returns what follows the member's name and colon; NULL if there is none. Inside of another text, the name is not
 * followed by a colon. */
static inline const char* muster_member_(const char* json, const char* quoted_name) {
  const char* at = json;
  while ((at = strstr(at, quoted_name)) != NULL) {
    at += strlen(quoted_name);
    at += strspn(at, " \t\r\n");
    if (*at == ':')
      return at + 1 + strspn(at + 1, " \t\r\n");
  }
  return NULL;
}

/* Returns the unix time at which remaining processes are killed; 0 without a notice. */
static inline double muster_suspend_deadline(void) {
  const char* path = getenv("MUSTER_SUSPEND_FILE");
  const char* deadline;
  char text[4096]; /* the deadline is among the first members; a long reason may be cut */
  ssize_t length;
  int file;
  if (!muster_receive_suspend_command() || !path)
    return 0;
  file = muster_open_(path, O_RDONLY);
  if (file < 0)
    return 0;
  length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0)
    return 0;
  text[length] = '\0';
  deadline = muster_member_(text, "\"deadline\"");
  return deadline ? muster_number_(deadline) : 0;
}

/* Returns the mapped heartbeat file, or memory that has no reader. */
static inline unsigned char* muster_record_(void) {
  static uint64_t nothing[MUSTER_RECORD_BYTES_ / 8];
  static unsigned char* record = NULL;
  const char* path;
  unsigned char empty[MUSTER_RECORD_BYTES_] = {'M', 'U', 'S', 'T', 'E', 'R', 'H', '1'};
  if (record)
    return record;
  memset(empty + 24, 0xff, 8); /* no step */
  path = getenv("MUSTER_HEARTBEAT_FILE");
  record = path && *path ? muster_map_(path, 0, empty, sizeof empty, PROT_READ | PROT_WRITE) : NULL;
  if (!record || memcmp(record, empty, 8) != 0)
    record = (unsigned char*)nothing;
  return record;
}

/* Stores eight bytes at once, so that readers see all of them or none. */
static inline void muster_store_(unsigned char* at, const void* eight) {
  uint64_t value;
  memcpy(&value, eight, sizeof value);
  __atomic_store_n((uint64_t*)(void*)at, value, __ATOMIC_RELAXED);
}

/* Sends a heartbeat: the program is alive. */
static inline void muster_heartbeat(void) {
  const double now = muster_now_();
  muster_store_(muster_record_() + 8, &now);
}

/* Reports the step that the program has reached (0 or more), and numbers as a JSON object such as "{\"loss\":0.25}":
 * at most 1024 bytes, longer objects are dropped; NULL for none. It is a heartbeat as well. One process of each
 * worker should call it. */
static inline void muster_progress(int64_t step, const char* numbers_json) {
  unsigned char* record = muster_record_();
  uint32_t* sequence = (uint32_t*)(void*)(record + 32);
  const uint32_t odd = (*sequence + 1) | 1; /* odd already where a process died here */
  const double now = muster_now_();
  size_t given = numbers_json ? strlen(numbers_json) : 0;
  uint32_t length;
  if (given < 2 || given > MUSTER_TEXT_BYTES_) {
    numbers_json = "{}";
    given = 2;
  }
  length = (uint32_t)given;
  /* A reader that sees an odd or a changed sequence reads again. */
  __atomic_store_n(sequence, odd, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  muster_store_(record + 16, &now);
  muster_store_(record + 24, &step);
  memcpy(record + 36, &length, sizeof length);
  memcpy(record + MUSTER_TEXT_AT_, numbers_json, given);
  __atomic_store_n(sequence, odd + 1, __ATOMIC_RELEASE);
  muster_store_(record + 8, &now);
}

/* Sends `line` and replaces it by the reply. Returns 0, or -1 with errno. */
static inline int muster_exchange_(int connection, const struct sockaddr_un* address, char* line, size_t size) {
  const double deadline = muster_now_() + MUSTER_ANSWER_SECONDS_;
  const struct timeval all = {(time_t)MUSTER_ANSWER_SECONDS_, 0};
  size_t length = strlen(line);
  size_t done = 0;
  ssize_t part;
  setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &all, sizeof all);
  while (connect(connection, (const struct sockaddr*)address, sizeof *address) != 0)
    if (errno != EINTR)
      return -1;
  while (done < length) {
    part = send(connection, line + done, length - done, MSG_NOSIGNAL);
    if (part < 0 && errno != EINTR)
      return -1;
    if (part > 0)
      done += (size_t)part;
  }
  for (length = 0; length + 1 < size;) {
    const double left = deadline - muster_now_();
    struct timeval rest;
    rest.tv_sec = (time_t)left;
    rest.tv_usec = (suseconds_t)((left - (double)rest.tv_sec) * 1e6);
    errno = ETIMEDOUT;
    if (left < 1e-3)
      return -1;
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &rest, sizeof rest);
    part = recv(connection, line + length, size - 1 - length, 0);
    if (part < 0 && errno != EINTR)
      return -1;
    errno = EPROTO;
    if (part == 0)
      return -1;
    if (part > 0)
      length += (size_t)part;
    line[length] = '\0';
    if (strchr(line, '\n'))
      return 0;
  }
  errno = EPROTO;
  return -1;
}

/* Reports that everything is saved, and does not return: muster ends the job with 85 on all nodes. Without a notice
 * the program suspends the job by itself. Outside of muster it returns 0 at once; -1 with errno where muster cannot
 * be reached within 5 s, and with EPROTO where it refuses. */
static inline int muster_go_suspend(void) {
  const char* path = getenv("MUSTER_CONTROL_SOCKET");
  const char* rank = getenv("RANK");
  const char* ok;
  struct sockaddr_un address;
  char line[4096] = "{\"control\":1,\"request\":\"saved\"";
  int connection, result, error;
  if (!path || !*path)
    return 0;
  memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  errno = ENAMETOOLONG;
  if (strlen(path) >= sizeof address.sun_path)
    return -1;
  strcpy(address.sun_path, path);
  if (rank && *rank && strlen(rank) < 19 && strspn(rank, "0123456789") == strlen(rank))
    sprintf(line + strlen(line), ",\"rank\":%lld", (long long)strtoll(rank, NULL, 10));
  strcat(line, "}\n");
  connection = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connection < 0)
    return -1;
  fcntl(connection, F_SETFD, FD_CLOEXEC);
  result = muster_exchange_(connection, &address, line, sizeof line);
  error = errno;
  close(connection);
  errno = error;
  if (result != 0)
    return -1;
  ok = muster_member_(line, "\"ok\"");
  errno = EPROTO;
  if (!ok || strncmp(ok, "true", 4) != 0)
    return -1;
  for (;;)
    sleep(3600); /* until muster ends the process */
}

#endif
