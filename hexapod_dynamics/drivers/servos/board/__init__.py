"""Bus servos behind the STM32 board (`drivers/board/`)."""
