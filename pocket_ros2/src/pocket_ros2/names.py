"""ROS names: what is valid, what `~`, `{node}` and relative names expand to, how remap rules change them."""

from __future__ import annotations

import re
from typing import NamedTuple

_NAME_LIMIT = 255
_TOPIC_PREFIX_SPACE = 8  # "rt/" or "rq/...Request" must fit behind a fully qualified name of this limit
_SUBSTITUTION = re.compile(r"\{([^{}]*)\}")


class BadName(NamedTuple):
    """Why a name is invalid, and at which character."""

    reason: str
    index: int


def node_name_error(name: str) -> BadName | None:
    """Return why a node name is invalid, None if it is valid."""
    if not name:
        return BadName("node name must not be empty", 0)
    bad = re.search(r"[^A-Za-z0-9_]", name)
    if bad:
        return BadName("node name must not contain characters other than alphanumerics or '_'", bad.start())
    if name[0].isdigit():
        return BadName("node name must not start with a number", 0)
    if len(name) > _NAME_LIMIT:
        return BadName(f"node name length should not exceed '{_NAME_LIMIT}'", _NAME_LIMIT)
    return None


def full_name_error(name: str, what: str = "topic name") -> BadName | None:
    """Return why a fully qualified topic or service name or a namespace is invalid, None if it is valid."""
    if not name:
        return BadName(f"{what} must not be empty", 0)
    if name[0] != "/":
        return BadName(f"{what} must be absolute, it must lead with a '/'", 0)
    if what == "namespace" and name == "/":
        return None
    unless = ", unless only a '/'" if what == "namespace" else ""
    if name[-1] == "/":
        return BadName(f"{what} must not end with a '/'{unless}", len(name) - 1)
    bad = re.search(r"[^A-Za-z0-9_/]", name)
    if bad:
        return BadName(f"{what} must not contain characters other than alphanumerics, '_', or '/'", bad.start())
    if "//" in name:
        return BadName(f"{what} must not contain repeated '/'", name.index("//") + 1)
    digit = re.search(r"/\d", name)
    if digit:
        return BadName(f"{what} must not have a token that starts with a number", digit.start() + 1)
    limit = _NAME_LIMIT - _TOPIC_PREFIX_SPACE
    if len(name) > limit:
        return BadName(f"{what.removesuffix(' name')} length should not exceed '{_NAME_LIMIT}U - 8U'", limit - 1)
    return None


def topic_name_error(name: str) -> BadName | None:
    """Return why a not yet expanded topic or service name is invalid, None if it is valid."""
    if not name:
        return BadName("topic name must not be empty string", 0)
    if name[-1] == "/":
        return BadName("topic name must not end with a forward slash", len(name) - 1)
    return _substitution_error(name) or _characters_error(name)


def _substitution_error(name: str) -> BadName | None:
    for match in _SUBSTITUTION.finditer(name):
        bad = re.search(r"[^A-Za-z0-9_]", match[1])
        if bad:
            at = match.start(1) + bad.start()
            return BadName("substitution name must not contain characters other than alphanumerics or '_'", at)
        if match[1][:1].isdigit():
            return BadName("substitution name must not start with a number", match.start(1))
    brace = re.search(r"[{}]", _SUBSTITUTION.sub(lambda m: "x" * len(m.group()), name))
    if brace:
        return BadName("topic name must not have unmatched (unbalanced) curly braces '{}'", brace.start())
    return None


def _characters_error(name: str) -> BadName | None:
    bad = re.search(r"[^A-Za-z0-9_/~{}]", name)
    if bad:
        return BadName(
            "topic name must not contain characters other than alphanumerics, '_', '~', '{', or '}'", bad.start()
        )
    tilde = name.rfind("~")
    if tilde > 0:
        return BadName("topic name must not have tilde '~' unless it is the first character", tilde)
    digit = re.search(r"(?:^|/)(\d)", name)
    if digit:
        return BadName("topic name token must not start with a number", digit.start(1))
    return None


def expand(name: str, node: str, namespace: str) -> str:
    """Return the fully qualified form of a valid topic or service name; ValueError for an unknown substitution."""
    base = namespace.rstrip("/")
    known = {"node": node, "ns": namespace, "namespace": namespace}

    def substitute(match: re.Match) -> str:
        if match[1] not in known:
            raise ValueError(f"unknown substitution: {match[0]}")
        return known[match[1]]

    if name.startswith("~"):
        name = f"{base}/{node}{name[1:]}"
    name = _SUBSTITUTION.sub(substitute, name)
    return name if name.startswith("/") else f"{base}/{name}"


def is_hidden(name: str) -> bool:
    """Return whether a topic, service or node is hidden: a part of its name starts with an underscore."""
    return any(token.startswith("_") for token in name.split("/"))


class RemapRule(NamedTuple):
    """One rule of `-r [node:][rostopic://|rosservice://]from:=to`; match is "__node", "__ns" or a name."""

    node: str
    match: str
    replacement: str
    kind: str = ""  # "", "topic" or "service"


def parse_remap(text: str) -> RemapRule:
    """Read one remap rule; ValueError says what is wrong with it."""
    left, separator, right = text.partition(":=")
    if not separator or not left or not right:
        raise ValueError(f"cannot read remap rule {text!r}; expected [node:]from:=to")
    node, kind = "", ""
    scheme = re.match(r"^(?:([A-Za-z_]\w*):)?(rostopic|rosservice)://(.+)$", left)
    if scheme:
        node, kind, left = scheme[1] or "", scheme[2][3:], scheme[3]
    else:
        prefix = re.match(r"^([A-Za-z_]\w*):(.+)$", left)
        if prefix:
            node, left = prefix[1], prefix[2]
    if left in ("__name", "__node"):
        bad = node_name_error(right)
        if bad:
            raise ValueError(f"cannot read remap rule {text!r}: {bad.reason}")
        return RemapRule(node, "__node", right)
    if left == "__ns":
        bad = full_name_error(right, "namespace")
        if bad:
            raise ValueError(f"cannot read remap rule {text!r}: {bad.reason}")
        return RemapRule(node, "__ns", right)
    for side in (left, right):
        bad = topic_name_error(side)
        if bad:
            raise ValueError(f"cannot read remap rule {text!r}: {bad.reason}")
    return RemapRule(node, left, right, kind)


def remap(name: str, rules: list[RemapRule], node: str, namespace: str, kind: str) -> str:
    """Return an expanded name after the first rule that matches it (both sides of a rule are expanded too)."""
    for rule in rules:
        if rule.match.startswith("__") or rule.node not in ("", node) or rule.kind not in ("", kind):
            continue
        if expand(rule.match, node, namespace) == name:
            return expand(rule.replacement, node, namespace)
    return name
