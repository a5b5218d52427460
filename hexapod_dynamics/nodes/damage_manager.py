"""Keeps what the software knows about the damage: parameters, the service `set_morphology`, the topic `morphology`."""

from hexapod_dynamics.errors import MorphologyError
from hexapod_dynamics.nodes.common import LATCHED, Diagnostics, declare, load_robot, run
from hexapod_dynamics.nodes.kept import Kept
from hexapod_dynamics.nodes.morphology import changed, values_of, whole_set
from hexapod_dynamics.robot import Morphology
from rcl_interfaces.msg import ParameterEvent, SetParametersResult
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.node import Node
from rclpy.parameter import Parameter

DESCRIPTIONS = {
    'legs': 'leg {} is there; true again brings the whole leg back',
    'links': 'link {} is there; what hangs on a lost link is lost with it',
    'locked': 'the joint that moves link {} does not turn any more',
    'remaining': 'how much of link {} is left, as a fraction of its length',
}


class DamageManager(Node):
    """One truth in three forms that always agree: its own parameters, the latched topic, the diagnostics."""

    def __init__(self):
        super().__init__('damage_manager')
        self.robot = load_robot(self)
        self._kept = Kept(self)
        self._morphology = Morphology.whole(self.robot)
        # The angle of a locked joint is measured by those who need it; here only the fact is kept.
        self._angles = dict.fromkeys(self.robot.joint_names, 0.0)
        self._following = True
        self._publisher = self.create_publisher(ParameterEvent, 'morphology', LATCHED)
        self._declare()
        self._restore()
        self._follow({})
        self.add_on_set_parameters_callback(self._on_set)
        self._service = self.create_service(SetParametersAtomically, 'set_morphology', self._serve)
        self._diagnostics = Diagnostics(self, self.robot.name, self._look)
        self._publish()

    def close(self):
        """Forget on a clean end; only a crash leaves something for the respawned node."""
        self._kept.forget()

    def _declare(self):
        given = {}
        for name, value in self._morphology.parameters().items():
            kind, _, part = name.partition('.')
            limits = {'low': 0.0, 'high': 1.0} if kind == 'remaining' else {}
            start = declare(self, name, value, DESCRIPTIONS[kind].format(part), **limits)
            if start != value:
                given[name] = start
        if given:
            self._morphology = changed(self._morphology, given, self._angles)

    def _restore(self):
        values = self._kept.load()
        if values is not None:
            self._morphology = Morphology.from_parameters(self.robot, values, self._angles)
            self.get_logger().warning(f'started again after a crash, still knows: {self._morphology.describe()}')

    def _follow(self, stored):
        """Let the parameters say what the morphology says; `stored` is about to be stored by whoever asked."""
        wanted = self._morphology.parameters() | stored
        late = [Parameter(name, value=value) for name, value in wanted.items()
                if name not in stored and self.get_parameter(name).value != value]
        if late:
            self._following = True
            result = self.set_parameters_atomically(late)
            if not result.successful:
                raise MorphologyError(f'parameters did not follow the morphology: {result.reason}')
        self._following = False

    def _on_set(self, parameters):
        """Judge a change of parameters, from whichever side it comes, and take it over when it is accepted."""
        if self._following:
            return SetParametersResult(successful=True)
        known = self._morphology.parameters()
        values = {p.name: p.value for p in parameters if p.name in known}
        if not values:
            return SetParametersResult(successful=True)
        try:
            self._morphology = changed(self._morphology, values, self._angles)
        except MorphologyError as error:
            return SetParametersResult(successful=False, reason=str(error))
        self._follow(values)
        self._kept.save(self._morphology.parameters())
        self._publish()
        return SetParametersResult(successful=True)

    def _serve(self, request, response):
        """Service set_morphology: the same judgement, with names and types checked in words first."""
        try:
            values = values_of(request.parameters)
            changed(self._morphology, values, self._angles)
            response.result = self.set_parameters_atomically([Parameter(n, value=v) for n, v in values.items()])
        except MorphologyError as error:
            response.result.successful, response.result.reason = False, str(error)
        return response

    def _publish(self):
        self._publisher.publish(whole_set(self, self._morphology))
        self._diagnostics.publish()

    def _look(self):
        if self._morphology.is_whole:
            return 'ok', 'whole', {}
        return 'warn', self._morphology.describe(), {}


def main(args=None):
    """Run the node."""
    run(DamageManager, args)


if __name__ == '__main__':
    main()
