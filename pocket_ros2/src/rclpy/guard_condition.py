"""A condition that a program triggers itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .callback_groups import CallbackGroup
from .utilities import get_default_context


class GuardCondition:
    """Has its callback run by the executor after `trigger()`."""

    def __init__(
        self, callback: Callable[[], Any] | None, callback_group: CallbackGroup | None, context: Any = None
    ) -> None:
        self._context = get_default_context() if context is None else context
        if not self._context._initialized:
            raise RuntimeError("Context must be initialized a GuardCondition can be created")
        self.callback, self.callback_group = callback, callback_group
        self._triggered = False
        self._wake: Callable[[], None] = lambda: None  # the node puts its executor's here

    def trigger(self) -> None:
        """Have the callback run."""
        self._triggered = True
        self._wake()

    def destroy(self) -> None:
        """Never run the callback again."""
        self._triggered = False
        self.callback = None

    def _is_ready(self) -> bool:
        return self._triggered

    def _take_job(self) -> tuple[Callable[..., Any], tuple] | None:
        if not self._triggered or self.callback is None:
            return None
        self._triggered = False
        return self.callback, ()
