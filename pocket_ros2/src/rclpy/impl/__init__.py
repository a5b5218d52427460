"""Inner modules of rclpy that programs import nevertheless."""
