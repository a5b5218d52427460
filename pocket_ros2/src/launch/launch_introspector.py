"""Shows what a launch description holds without running it."""

from .actions import EmitEvent, ExecuteProcess, LogInfo, RegisterEventHandler


def _joined(substitutions):
    return " + ".join(sub.describe() for sub in substitutions)


def _pairs(pairs):
    return "{" + ", ".join(f"{_joined(name)}: {_joined(value)}" for name, value in pairs) + "}"


def _described(entity):
    """Return the description of one entity."""
    if isinstance(entity, LogInfo):
        return f"LogInfo({_joined(entity.msg)})"
    if isinstance(entity, EmitEvent):
        return f"EmitEvent(event='{entity.event.name}')"
    if isinstance(entity, ExecuteProcess):
        cmd = ", ".join(_joined(part) for part in entity.cmd)
        cwd = None if entity.cwd is None else f"'{_joined(entity.cwd)}'"
        env = None if entity.env is None else _pairs(entity.env)
        return f"ExecuteProcess(cmd=[{cmd}], cwd={cwd}, env={env}, shell={entity.shell})"
    return f"Action('{entity}')"


def _tree(entities):
    """Yield the lines of a tree of entities."""
    for index, entity in enumerate(entities):
        last = index == len(entities) - 1
        if isinstance(entity, RegisterEventHandler):
            description, below = entity.event_handler.describe()
            lines = [
                f"RegisterEventHandler('{entity.event_handler}'):",
                f"└── {description}",
                *(f"    {line}" for line in _tree(below)),
            ]
        else:
            lines = [_described(entity)]
        yield f"{'└' if last else '├'}── {lines[0]}"
        yield from (f"{' ' if last else '│'}   {line}" for line in lines[1:])


class LaunchIntrospector:
    """Makes texts of launch descriptions."""

    def format_launch_description(self, launch_description):
        """Return the description's entities as a tree; what they would yield when they run is not known yet."""
        return "\n".join([str(launch_description), *_tree(launch_description.entities)])
