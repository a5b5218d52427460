"""Which callbacks may run at the same time."""

from __future__ import annotations

import threading
import weakref
from typing import Any


class CallbackGroup:
    """Base of the groups; an executor asks it before it runs a callback."""

    def __init__(self) -> None:
        self.entities: set[weakref.ref] = set()

    def add_entity(self, entity: Any) -> None:
        """Put an entity into the group."""
        self.entities.add(weakref.ref(entity, self.entities.discard))

    def has_entity(self, entity: Any) -> bool:
        """Return whether an entity is in the group."""
        return weakref.ref(entity) in self.entities

    def can_execute(self, entity: Any) -> bool:
        """Return whether the entity's callback may run now."""
        raise NotImplementedError

    def beginning_execution(self, entity: Any) -> bool:
        """Claim the group for the entity's callback; False if that is not possible now."""
        raise NotImplementedError

    def ending_execution(self, entity: Any) -> None:
        """Release the group after the entity's callback."""
        raise NotImplementedError


class ReentrantCallbackGroup(CallbackGroup):
    """Callbacks run whenever there is a thread for them, also the same one several times at once."""

    def can_execute(self, entity: Any) -> bool:
        """Return True."""
        return True

    def beginning_execution(self, entity: Any) -> bool:
        """Return True."""
        return True

    def ending_execution(self, entity: Any) -> None:
        """Do nothing."""


class MutuallyExclusiveCallbackGroup(CallbackGroup):
    """One callback of the group at a time."""

    def __init__(self) -> None:
        super().__init__()
        self._active: Any = None
        self._lock = threading.Lock()

    def can_execute(self, entity: Any) -> bool:
        """Return whether no callback of the group is running."""
        return self._active is None

    def beginning_execution(self, entity: Any) -> bool:
        """Claim the group; False if a callback of it is running."""
        with self._lock:
            if self._active is None:
                self._active = entity
                return True
            return False

    def ending_execution(self, entity: Any) -> None:
        """Release the group."""
        if self._active is not entity:
            raise AssertionError("only the entity whose callback runs can end it")
        self._active = None
