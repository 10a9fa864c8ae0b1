int layered(void) { return 1; }
