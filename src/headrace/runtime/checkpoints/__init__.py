"""What a run keeps from one start to the next: who owns it, whether it fits the program, and how it is mended."""
