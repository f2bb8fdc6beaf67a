// Keeps one core busy until it is killed.
int main(void) {
  for (volatile unsigned long turns = 0;; ++turns) {
  }
}
