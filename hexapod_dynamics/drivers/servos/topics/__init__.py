"""Joints that somebody else drives and measures, reached by topics."""
