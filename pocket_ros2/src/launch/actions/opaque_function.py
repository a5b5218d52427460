"""The action that calls a function."""

from ..action import Action


class OpaqueFunction(Action):
    """Calls `function(context, *args, **kwargs)`; the entities it returns are visited next."""

    def __init__(self, *, function, args=None, kwargs=None, **left_over_kwargs):
        super().__init__(**left_over_kwargs)
        if not callable(function):
            raise TypeError(f"OpaqueFunction expected 'function' to be callable, but got '{function}'")
        self._function = function
        self._args = args or []
        self._kwargs = kwargs or {}

    def execute(self, context):
        """Call it."""
        return self._function(context, *self._args, **self._kwargs)
