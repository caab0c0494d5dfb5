"""Stage 2: all banks joined by the class-agnostic layer."""
