"""Runs the AdaptiveGait of the checkout whose Python this is, for a program of another one: GaitOfCheckout.

    PATH/with_ros2 python gait_server.py

It imports nothing but that checkout's package. Requests and answers are lines of JSON: first the settings of the gait,
then lists of calls, [name, arguments]; a morphology is given by its named values. Each answer is what the gait commands
and does.
"""

import json
import sys

from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.robot import Morphology, Robot


def main():
    """Answer until the requests end."""
    robot, answers = Robot.jethexa(), sys.stdout
    sys.stdout = sys.stderr  # nothing but answers goes to the caller
    gait = AdaptiveGait(**json.loads(sys.stdin.readline())).bind(robot)
    while True:
        answer = {
            "position": gait.position.tolist(),
            "velocity": gait.velocity.tolist(),
            "twist": [float(value) for value in gait.twist],
            "walking": bool(gait.walking),
            "doing": gait.doing,
            "why": str(gait.report().get("why", "")),
        }
        print(json.dumps(answer), file=answers, flush=True)
        request = sys.stdin.readline()
        if not request:
            return
        for name, arguments in json.loads(request):
            if name == "set_morphology":
                arguments = [Morphology.from_parameters(robot, *arguments)]
            getattr(gait, name)(*arguments)


if __name__ == "__main__":
    main()
