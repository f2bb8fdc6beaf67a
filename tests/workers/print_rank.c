// Prints its ranks on one line:  rank 3 of 4, local rank 1 of 2, node 1 of 2
#include <stdio.h>
#include <stdlib.h>

static const char* variable(const char* name) {
  const char* value = getenv(name);
  return value == NULL ? "?" : value;
}

int main(void) {
  printf("rank %s of %s, local rank %s of %s, node %s of %s\n", variable("RANK"), variable("WORLD_SIZE"),
         variable("LOCAL_RANK"), variable("LOCAL_WORLD_SIZE"), variable("GROUP_RANK"), variable("GROUP_WORLD_SIZE"));
  return 0;
}
