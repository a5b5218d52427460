"""Runs the AdaptiveGait of the checkout whose Python this is, for a program of another one: GaitOfCheckout.

    PATH/with_ros2 python gait_server.py ADDRESS

It imports nothing but that checkout's package. Each request is a JSON object: calls, [name, arguments] in turn; a
morphology is given by its named values. Each answer: what the gait commands and does.
"""

import json
import sys
from multiprocessing.connection import Client

from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.robot import Morphology, Robot


def main():
    """Answer until the connection is closed."""
    robot = Robot.jethexa()
    with Client(sys.argv[1]) as connection:
        settings = json.loads(connection.recv_bytes())
        gait = AdaptiveGait(**settings).bind(robot)
        while True:
            answer = {
                "position": gait.position.tolist(),
                "velocity": gait.velocity.tolist(),
                "twist": [float(value) for value in gait.twist],
                "walking": bool(gait.walking),
                "doing": gait.doing,
                "why": str(gait.report().get("why", "")),
            }
            connection.send_bytes(json.dumps(answer).encode())
            try:
                calls = json.loads(connection.recv_bytes())
            except EOFError:
                return
            for name, arguments in calls:
                if name == "set_morphology":
                    arguments = [Morphology.from_parameters(robot, *arguments)]
                getattr(gait, name)(*arguments)


if __name__ == "__main__":
    main()
