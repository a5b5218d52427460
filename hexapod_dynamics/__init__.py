"""Whole-body dynamics of legged robots whose legs may leave."""
