#include "frames.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Larger than any job needs; a longer frame is invalid. */
static const uint32_t kMostOfFrame = 512u << 20;

static pthread_mutex_t sending = PTHREAD_MUTEX_INITIALIZER;

void* allocate(size_t size) {
  void* memory = calloc(1, size == 0 ? 1 : size);
  if (memory == NULL) {
    _exit(1);
  }
  return memory;
}

static bool read_all(int stream, char* to, size_t size) {
  while (size > 0) {
    const ssize_t got = read(stream, to, size);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return false;
    }
    to += got;
    size -= (size_t)got;
  }
  return true;
}

bool read_frame(int stream, struct frame* frame) {
  uint32_t size = 0;
  if (!read_all(stream, (char*)&size, sizeof size) || size == 0 || size > kMostOfFrame) {
    return false;
  }
  frame->at = 0;
  frame->size = size - 1;
  frame->bytes = allocate(frame->size);
  if (!read_all(stream, &frame->kind, 1) || !read_all(stream, frame->bytes, frame->size)) {
    free(frame->bytes);
    return false;
  }
  return true;
}

/* Muster alone writes to this stream, so a truncated frame is a bug, and the program ends. */
static void take(struct frame* frame, void* to, size_t size) {
  if (frame->size - frame->at < size) {
    _exit(1);
  }
  memcpy(to, frame->bytes + frame->at, size);
  frame->at += size;
}

uint32_t take_number(struct frame* frame) {
  uint32_t number = 0;
  take(frame, &number, sizeof number);
  return number;
}

uint32_t take_count(struct frame* frame) {
  const uint32_t count = take_number(frame);
  if (count > (frame->size - frame->at) / sizeof(uint32_t)) {
    _exit(1);
  }
  return count;
}

char* take_text(struct frame* frame) {
  const uint32_t size = take_number(frame);
  if (size > frame->size) {
    _exit(1);
  }
  char* text = allocate((size_t)size + 1);
  take(frame, text, size);
  return text;
}

void add_bytes(struct frame_writer* writer, const void* bytes, size_t size) {
  char* grown = realloc(writer->bytes, writer->size + size + 1);
  if (grown == NULL) {
    _exit(1);
  }
  if (size > 0) {
    memcpy(grown + writer->size, bytes, size);
  }
  writer->bytes = grown;
  writer->size += size;
}

void begin_frame(struct frame_writer* writer, enum frame_kind kind) {
  const uint32_t unknown = 0;
  const char letter = (char)kind;
  writer->bytes = NULL;
  writer->size = 0;
  add_bytes(writer, &unknown, sizeof unknown);
  add_bytes(writer, &letter, 1);
}

void add_number(struct frame_writer* writer, uint32_t number) {
  add_bytes(writer, &number, sizeof number);
}

void add_text(struct frame_writer* writer, const char* text) {
  const size_t size = strlen(text);
  add_number(writer, (uint32_t)size);
  add_bytes(writer, text, size);
}

void send_frame(struct frame_writer* writer, int stream) {
  const uint32_t size = (uint32_t)(writer->size - sizeof(uint32_t));
  memcpy(writer->bytes, &size, sizeof size);
  pthread_mutex_lock(&sending);
  for (size_t done = 0; done < writer->size;) {
    const ssize_t sent = send(stream, writer->bytes + done, writer->size - done, MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) {
      _exit(0); /* the other end is closed: the job is over */
    }
    done += sent < 0 ? 0 : (size_t)sent;
  }
  pthread_mutex_unlock(&sending);
  free(writer->bytes);
  writer->bytes = NULL;
}
