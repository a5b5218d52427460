"""What all nodes stand on: life cycle of a process, tick loop, serialised messages, stored state."""
