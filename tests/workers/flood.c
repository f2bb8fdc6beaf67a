// Opens connections to a port of this machine and keeps them:
//   flood PORT FIRST_SOURCE SOURCES COUNT PER_SECOND SPEECH
//
// They come from SOURCES addresses in turn, of which FIRST_SOURCE (such as 127.1.0.1) is the first. Each sends
// what is in the file SPEECH, in which "################" stands for 16 digits that no two have. Says "half" when
// half of them have been opened, "done" when all have, and stays until its standard input ends. Of what the other
// end has closed it keeps its own end, as long as it has descriptors.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
  kEvents = 512,
  kMostSpeech = 60000,
  kMostDescriptors = 1 << 20
};
static const char kDigits[] = "################";

static int epoll;
static long held, began;
static long most_held;
static char speech[kMostSpeech];
static size_t speech_size;
static char* number;  // where the digits stand
static struct { char is_mine, has_spoken, has_ended; } states[kMostDescriptors];
static int ended[kMostDescriptors];  // closed by the other end
static int ended_count;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void read_speech(const char* path) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) {
    perror(path);
    exit(66);
  }
  speech_size = fread(speech, 1, sizeof speech, file);
  fclose(file);
  number = memmem(speech, speech_size, kDigits, sizeof kDigits - 1);
}

static void say(const char* word) {
  printf("%s\n", word);
  fflush(stdout);
}

static void forget(int fd) {
  states[fd].is_mine = states[fd].has_ended = 0;
  close(fd);
  --held;
}

static void speak(int fd) {
  if (number != NULL) {
    char digits[sizeof kDigits];
    snprintf(digits, sizeof digits, "%08lx%08x", ++began, (unsigned)getpid());
    memcpy(number, digits, sizeof digits - 1);
  }
  states[fd].has_spoken = 1;
  struct epoll_event wanted = {.events = EPOLLIN | EPOLLRDHUP, .data.fd = fd};
  epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &wanted);
  if (send(fd, speech, speech_size, MSG_NOSIGNAL) < 0) {
    forget(fd);
  }
}

static void keep_end(int fd) {
  struct epoll_event none = {.data.fd = fd};
  epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &none);
  states[fd].has_ended = 1;
  ended[ended_count++] = fd;
}

// One that the other end has closed makes room for a new one.
static int has_room(void) {
  while (held >= most_held && ended_count > 0) {
    const int fd = ended[--ended_count];
    if (states[fd].has_ended) {
      forget(fd);
    }
  }
  return held < most_held;
}

static void on_event(const struct epoll_event* event) {
  static char rest[1 << 16];
  const int fd = event->data.fd;
  if (fd == STDIN_FILENO || !states[fd].is_mine) {
    return;
  }
  if ((event->events & EPOLLOUT) != 0 && !states[fd].has_spoken) {
    speak(fd);
  } else if ((event->events & (EPOLLIN | EPOLLERR | EPOLLHUP | EPOLLRDHUP)) != 0) {
    const ssize_t size = recv(fd, rest, sizeof rest, MSG_DONTWAIT);
    if ((event->events & (EPOLLERR | EPOLLHUP)) != 0 || (size < 0 && errno != EAGAIN)) {
      forget(fd);
    } else if (size == 0) {
      keep_end(fd);
    }
  }
}

// Returns whether the standard input has ended.
static int look(int milliseconds) {
  struct epoll_event events[kEvents];
  const int count = epoll_wait(epoll, events, kEvents, milliseconds);
  int is_over = 0;
  for (int i = 0; i < count; ++i) {
    is_over |= events[i].data.fd == STDIN_FILENO;
    on_event(&events[i]);
  }
  return is_over;
}

static void open_one(const struct sockaddr_in* target, in_addr_t source) {
  const int on = 1;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = source};
  setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  if (fd < 0 || bind(fd, (const struct sockaddr*)&from, sizeof from) != 0 ||
      (connect(fd, (const struct sockaddr*)target, sizeof *target) != 0 && errno != EINPROGRESS)) {
    close(fd);
    return;
  }
  ++held;
  states[fd].is_mine = 1;
  states[fd].has_spoken = speech_size == 0;
  struct epoll_event wanted = {.events = EPOLLIN | EPOLLRDHUP | (speech_size == 0 ? 0 : EPOLLOUT), .data.fd = fd};
  epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &wanted);
}

int main(int argc, char** argv) {
  if (argc != 7) {
    fprintf(stderr, "usage: flood PORT FIRST_SOURCE SOURCES COUNT PER_SECOND SPEECH\n");
    return 64;
  }
  const struct sockaddr_in target = {.sin_family = AF_INET,
                                     .sin_port = htons((unsigned short)atoi(argv[1])),
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  const in_addr_t first = ntohl(inet_addr(argv[2]));
  const long sources = atol(argv[3]);
  const long count = atol(argv[4]);
  const double rate = atof(argv[5]);
  read_speech(argv[6]);
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  most_held = (limit.rlim_cur < kMostDescriptors ? (long)limit.rlim_cur : kMostDescriptors) - 64;
  epoll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event wanted = {.events = EPOLLIN, .data.fd = STDIN_FILENO};
  epoll_ctl(epoll, EPOLL_CTL_ADD, STDIN_FILENO, &wanted);
  const double start = now();
  int is_over = 0;
  for (long opened = 0; opened < count && !is_over;) {
    const long due = (long)((now() - start) * rate) + 1;
    for (int i = 0; i < kEvents && opened < count && opened < due && has_room(); ++i) {
      open_one(&target, htonl(first + (in_addr_t)(opened % sources)));
      if (++opened == count / 2) {
        say("half");
      }
    }
    is_over = look(opened < due ? 0 : 1);
  }
  say("done");
  while (!is_over) {
    is_over = look(-1);
  }
  return 0;
}
