"""Infrastructure that all nodes share: life cycle of a process, tick loop, serialised messages, stored state."""
