"""Feetech STS servos."""
