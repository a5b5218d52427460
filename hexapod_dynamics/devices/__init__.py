"""Simulated hardware that the drivers talk to: a servo bus on a pty and an MPU6050 register map."""
