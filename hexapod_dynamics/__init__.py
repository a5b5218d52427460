"""Whole-body dynamics of legged robots that can lose legs."""
