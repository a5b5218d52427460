"""The MPU6050."""
