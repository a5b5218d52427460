"""Dynamixel servos, protocol 1 (AX, MX) and 2 (MX, X)."""
