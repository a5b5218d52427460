"""What pocket ROS 2 raises where it ends."""


class NotCovered(NotImplementedError):
    """A part of ROS 2 that pocket ROS 2 does not have; the text names it and says where it is to be had."""

    def __init__(self, what: str) -> None:
        super().__init__(f"pocket ROS 2 does not cover {what}; source a real ROS 2 to use it")


class NotCoveredImport(ImportError):
    """A module of ROS 2 that pocket ROS 2 does not have."""

    def __init__(self, module: str, what: str) -> None:
        super().__init__(f"pocket ROS 2 does not cover {what} ({module}); source a real ROS 2 to use it", name=module)
