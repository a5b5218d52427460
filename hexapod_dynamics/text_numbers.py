"""Numbers in texts that people write: files, launch arguments, answers."""


def parse_number(text: str) -> float:
    """Return the number of a text, as XML, C and ROS read it; ValueError for another text.

    `float` alone also reads 1_000, a slip of 1.000, as 1000, and the digits of all scripts.
    """
    if "_" in text or not text.isascii():
        raise ValueError(f"{text!r} is no number")
    return float(text)
