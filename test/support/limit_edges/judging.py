"""Whether a value is as expected, and whether a judgement changes where it should."""


def near(value, expected, share=0.05):
    """Whether a value is what is expected but for a share of it."""
    return bool(abs(value - expected) <= share * abs(expected))


def changes(judge, *values):
    """Whether a judgement is False at the first value and True at the second."""
    return [bool(judge(one)) for one in values] == [False, True]
