"""Descriptions of parameters."""

from ros2_tools.errors import not_covered

from .parameter_descriptions import ParameterFile, ParameterValue

__all__ = ["ParameterFile", "ParameterValue"]
__getattr__ = not_covered(__name__)
