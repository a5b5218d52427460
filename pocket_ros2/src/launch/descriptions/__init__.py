"""Descriptions of what can be run."""

from .executable import Executable

__all__ = ["Executable"]
