"""Joints that another driver moves and measures, accessed by topics."""
