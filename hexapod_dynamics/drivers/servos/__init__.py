"""The servos: their protocols, the thread that serves their bus, and the supervisor that decides what they do."""
