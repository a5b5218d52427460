"""Servos with a table of registers: packets, bus and servo interface that Dynamixel and Feetech share."""
