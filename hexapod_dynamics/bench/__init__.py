"""Simulated devices, browser view, learning, plots, commissioning: what does not run in the robot's control."""
