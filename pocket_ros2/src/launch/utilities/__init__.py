"""Helpers that actions and substitutions share."""

from collections.abc import Iterable

from ..substitution import Substitution
from ..text_substitution import TextSubstitution


def is_a(obj, entity_type):
    """Return whether the object is of this type."""
    return isinstance(obj, entity_type)


is_a_subclass = is_a


def ensure_argument_type(argument, types, argument_name, caller=None):
    """Raise TypeError unless the argument is of one of the types."""
    types = tuple(types) if isinstance(types, (list, tuple)) else (types,)
    if not isinstance(argument, types):
        names = ", ".join(str(each) for each in types)
        where = f"{caller} " if caller else ""
        raise TypeError(
            f"{where}expected '{argument_name}' to be one of ({names}), but got '{argument}' of type '{type(argument)}'"
        )


def normalize_to_list_of_substitutions(subs):
    """Return a list of substitutions from a text, a substitution, or an iterable of both."""
    if isinstance(subs, str):
        return [TextSubstitution(text=subs)]
    if isinstance(subs, Substitution):
        return [subs]
    if isinstance(subs, Iterable):
        return [each for sub in subs for each in _normalized_item(sub)]
    raise TypeError(
        f"Failed to normalize given item of type '{type(subs)}' ({subs!r}), when only 'str', "
        "'launch.Substitution' or an iterable of them were expected"
    )


def _normalized_item(sub):
    if isinstance(sub, (str, Substitution)):
        return normalize_to_list_of_substitutions(sub)
    raise TypeError(
        f"Failed to normalize given item of type '{type(sub)}' ({sub!r}), when only 'str' or "
        "'launch.Substitution' were expected"
    )


def perform_substitutions(context, subs):
    """Return the substitutions' texts, joined."""
    return "".join(context.perform_substitution(sub) for sub in subs)


def visit_all_entities_and_collect_futures(entity, context):
    """Visit an entity and all that it yields; return [(entity, future)] of those that are not done at once."""
    below = entity.visit(context)
    future = entity.get_asyncio_future()
    pairs = [] if future is None else [(entity, future)]
    for sub_entity in below or []:
        pairs += visit_all_entities_and_collect_futures(sub_entity, context)
    return pairs


def as_entities(some_actions):
    """Return a list from one entity, several, or None."""
    if some_actions is None:
        return []
    return [
        each for each in (some_actions if isinstance(some_actions, Iterable) else [some_actions]) if each is not None
    ]


__all__ = [
    "as_entities",
    "ensure_argument_type",
    "is_a",
    "is_a_subclass",
    "normalize_to_list_of_substitutions",
    "perform_substitutions",
    "visit_all_entities_and_collect_futures",
]
