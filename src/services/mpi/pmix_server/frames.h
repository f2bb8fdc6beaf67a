/* Frames between muster and its PMIx server, over one stream socket: a length of 32 bits, which counts what follows, a
 * letter for the type, and the fields. Both are programs of one machine and one build: numbers are in native order.
 * Within a frame a number has 32 bits, and a text is its length and its bytes.
 *
 * The counterpart is src/services/mpi/pmix_frames.cpp. */
#ifndef MUSTER_PMIX_SERVER_FRAMES_H
#define MUSTER_PMIX_SERVER_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum frame_kind {
  /* Messages from muster. */
  FRAME_JOB = 'J',    /* ranks by node: the first frame */
  FRAME_SHOWN = 'T',  /* the message with this number has been shown to the user */
  FRAME_FENCED = 'R', /* result of a fence: its number, 1 or 0 (it failed), and the parts of all nodes, to the end */
  /* Messages to muster. */
  FRAME_ENVIRONMENT = 'E', /* of one rank of this node: the rank, and texts "NAME=value" to the end */
  FRAME_READY = 'K',       /* the version of the library, once the ranks may start */
  FRAME_REFUSED = 'X',     /* why there will be no server: the last frame */
  FRAME_CONNECTED = 'C',   /* a rank has reached MPI_Init */
  FRAME_FINALIZED = 'D',   /* a rank has left by MPI_Finalize */
  FRAME_ABORTED = 'A',     /* a rank has called MPI_Abort: rank, code, text */
  FRAME_SAID =
      'S', /* a message of MPI for the user: a number, the rank, 1 (as Open MPI 4 packs it) or 0 (a text), and the
              bytes, to the end */
  FRAME_FENCE =
      'F' /* a fence: its number, how many ranks take part (0: all) and which, and the part of this node, to the end */
};

/* A frame that was read; `at` is the offset of the next field. */
struct frame {
  char kind;
  char* bytes;
  size_t size;
  size_t at;
};

/* False at the end of the stream. The caller frees `bytes`. Ends the program when memory is short. */
bool read_frame(int stream, struct frame* frame);
uint32_t take_number(struct frame* frame);
/* Number of fields that follow. */
uint32_t take_count(struct frame* frame);
/* Copies a text; the caller frees it. */
char* take_text(struct frame* frame);

/* A frame under construction. */
struct frame_writer {
  char* bytes;
  size_t size;
};

void begin_frame(struct frame_writer* writer, enum frame_kind kind);
void add_number(struct frame_writer* writer, uint32_t number);
void add_text(struct frame_writer* writer, const char* text);
void add_bytes(struct frame_writer* writer, const void* bytes, size_t size);
/* Writes the frame whole, from any thread, and frees it. Ends the program when muster is gone. */
void send_frame(struct frame_writer* writer, int stream);

/* Allocates memory, or ends the program: without memory no error can be reported. */
void* allocate(size_t size);

#endif
