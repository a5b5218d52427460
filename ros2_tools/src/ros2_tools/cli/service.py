"""Verbs `ros2 service` list, type and find."""

from .graph import graph_node, print_found, print_listed, print_types, strategy_arguments, visible


def names_and_types(node, include_hidden=False):
    """Return the (name, types) pairs of all services, hidden ones on request."""
    return visible(node.get_service_names_and_types(), include_hidden)


def has_service(name):
    """Return a condition for `graph_node`: this service is known."""
    return lambda node: any(known == name for known, _ in node.get_service_names_and_types())


def _count_arguments(parser):
    parser.add_argument("-c", "--count-services", action="store_true", help="Only display the number of services")
    parser.add_argument("--include-hidden-services", action="store_true", help="Consider hidden services as well")


def list_arguments(parser):
    """Declare the options of `ros2 service list`."""
    strategy_arguments(parser)
    parser.add_argument("-t", "--show-types", action="store_true", help="Additionally show the service type")
    _count_arguments(parser)


def list_verb(args):
    """Print the services."""
    with graph_node(args) as node:
        services = names_and_types(node, args.include_hidden_services)
    print_listed(services, args.count_services, args.show_types)


def type_arguments(parser):
    """Declare the options of `ros2 service type`."""
    parser.add_argument("service_name", help="Name of the service (e.g. '/talker/list_parameters')")


def type_verb(args):
    """Print a service's types."""
    with graph_node(args, found=has_service(args.service_name)) as node:
        return print_types(names_and_types(node, args.include_hidden_services), args.service_name)


def find_arguments(parser):
    """Declare the options of `ros2 service find`."""
    parser.add_argument("service_type", help="Type to look for (e.g. 'rcl_interfaces/srv/ListParameters')")
    _count_arguments(parser)


def find_verb(args):
    """Print the services of a type."""
    with graph_node(args) as node:
        services = names_and_types(node, args.include_hidden_services)
    print_found(services, args.service_type, args.count_services)
