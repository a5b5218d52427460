"""Plots of recorded walks and of gait plans."""
