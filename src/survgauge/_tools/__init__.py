"""What every room uses: arrays, sorting, threads, random numbers, writing, text."""
