"""Classes that tell Cyclone DDS a ROS type: type name as on the wire, final, XCDR1 only."""

from __future__ import annotations

from functools import cache

from cyclonedds.idl import make_idl_struct, types

from .definitions import Field, definition

_BASES = {
    "bool": bool, "byte": types.byte, "char": types.uint8, "int8": types.int8, "uint8": types.uint8,
    "int16": types.int16, "uint16": types.uint16, "int32": types.int32, "uint32": types.uint32,
    "int64": types.int64, "uint64": types.uint64, "float32": types.float32, "float64": types.float64,
    "string": str,
}  # fmt: skip


def dds_type_name(typename: str) -> str:
    """Return the DDS name of `pkg/msg/Name` (or of a service half): `pkg::msg::dds_::Name_`."""
    package, kind, name = typename.split("/")
    return f"{package}::{kind}::dds_::{name}_"


def ros_type_name(dds_name: str) -> str | None:
    """Return `pkg/msg/Name` for the DDS name of a ROS type, None for another type's."""
    parts = dds_name.split("::")
    if len(parts) != 4 or parts[2] != "dds_" or not parts[3].endswith("_"):
        return None
    return f"{parts[0]}/{parts[1]}/{parts[3][:-1]}"


def _member(field: Field) -> object:
    if field.is_message:
        kind = idl_class(field.base)
    elif field.string_bound:
        kind = types.bounded_str[field.string_bound]
    else:
        kind = _BASES[field.base]
    if field.container == "array":
        return types.array[kind, field.size]
    if field.container == "sequence":
        return types.sequence[kind, field.size] if field.size else types.sequence[kind]
    return kind


@cache
def idl_class(typename: str) -> type:
    """Return the class Cyclone DDS makes a topic of; a service half has the two members of its header in front."""
    members = {f.name: _member(f) for f in definition(typename).fields}
    if "/srv/" in typename:
        members = {"client_id_": types.uint64, "sequence_number_": types.int64, **members}
    cls = make_idl_struct(
        typename.split("/")[2], dds_type_name(typename).replace("::", "."), members, dataclassify=False
    )
    # Appendable would mean XCDR2, which a ROS 2 of today does not match.
    cls.__idl_annotations__.update(extensibility="final", xcdrv2=False)
    return cls
