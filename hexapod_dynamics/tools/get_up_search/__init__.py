"""Falls and attempts to get up of a simulated robot: for the search of manoeuvres, and for tests and benchmarks."""
