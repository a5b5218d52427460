from launch.actions import NoSuchAction  # noqa: F401
