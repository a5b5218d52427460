"""Fill a message from the mapping a user typed as YAML."""

import array

from .interfaces import is_message, message_class


def _element_class(field_type):
    """Return the message class of the elements of an array, or None if they are not messages."""
    if "/" not in field_type:
        return None
    element = field_type.partition("<")[2].rstrip(">").partition(",")[0] or field_type.partition("[")[0]
    return message_class(element)


def fill(message, values, stamped=False):
    """Set a message's fields from a mapping; return setters that take a time stamp.

    :param stamped: leave a header given as `auto` and a time given as `now` to the returned setters

    :raises AttributeError: for a field that the message does not have
    :raises TypeError: for a value that is no mapping where a message is due
    """
    if not hasattr(values, "items"):
        raise TypeError(f"Value '{values}' is expected to be a dictionary but is a {type(values).__name__}")
    stamps = []
    types = message.get_fields_and_field_types()
    for name, value in values.items():
        old = getattr(message, name)
        if stamped and types.get(name) == "std_msgs/Header" and value == "auto":
            stamps.append(lambda now, header=old: setattr(header, "stamp", now))
        elif stamped and types.get(name) == "builtin_interfaces/Time" and value == "now":
            stamps.append(lambda now, name=name: setattr(message, name, now))
        elif is_message(old):
            new = type(old)()
            stamps += fill(new, value, stamped)
            setattr(message, name, new)
        else:
            setattr(message, name, _converted(old, value, types[name], stamps, stamped))
    return stamps


def _converted(old, value, field_type, stamps, stamped):
    """Return `value` as the type of the field's present value `old`."""
    kind = type(old)
    if kind is array.array:
        return array.array(old.typecode, value)
    if kind.__name__ == "ndarray":
        import numpy  # loaded already, by the message

        return numpy.array(value, dtype=old.dtype)
    element = _element_class(field_type) if kind is list else None
    if element is None:
        return value if type(value) is kind else kind(value)
    made = []
    for entry in value:
        made.append(element())
        stamps += fill(made[-1], entry, stamped)
    return made
