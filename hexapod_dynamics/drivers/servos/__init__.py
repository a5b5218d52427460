"""The LX/HTD serial bus servos."""
