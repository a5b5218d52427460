"""Descriptions of parameters."""

from launch.not_covered import not_covered

from ..parameter_descriptions import Parameter, ParameterFile, ParameterValue

__getattr__ = not_covered(__name__, "ComposableNode")

__all__ = ["Parameter", "ParameterFile", "ParameterValue"]
