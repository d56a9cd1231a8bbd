"""Benchmarks of the kit: ratios inside one interleaved run, printed, never asserted."""
