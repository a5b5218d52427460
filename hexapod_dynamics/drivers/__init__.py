"""Drivers of the real devices."""
