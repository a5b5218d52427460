"""The protocol of the LX/HTD serial bus servos."""
