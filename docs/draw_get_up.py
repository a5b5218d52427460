"""Draws the film of a robot on its back without two legs, that gets up: getting_up.gif.

MUJOCO_GL=osmesa PYTHONPATH=$PYTHONPATH:test python docs/draw_get_up.py

It needs mujoco, pillow and Debian's libosmesa6 (or MUJOCO_GL=egl). The truth is MuJoCo with collisions of all links and
`servos=real`; the manoeuvre is that of the package's library.
"""

import pathlib

import numpy as np
from draw_film import SIZE, Camera
from PIL import Image, ImageDraw, ImageFont

from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.recovery.get_up import GetUp
from hexapod_dynamics.gait.recovery.manoeuvres import GetUpLibrary
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.tools.get_up_search.fallen_robot import TICK, FallenRobot, draw_joints, draw_truth

LOST, SEED, EVERY, LONGEST, COLOURS = ("LF", "RM"), 7, 5, 15.0, 48
ON_ITS_BACK = np.diag([1.0, -1.0, -1.0])


def main():
    """Let it fall, get up and render; write the film beside this file."""
    robot = Robot.jethexa()
    whole, random = Morphology.whole(robot), np.random.default_rng(SEED)
    left = whole.without(*LOST)
    gait = AdaptiveGait().bind(robot)
    stance = gait.position.copy()
    gait.set_morphology(left)
    get_up = GetUp(robot, GetUpLibrary.load_for_robot(robot))
    fallen = FallenRobot(robot, get_up, truth=draw_truth(random, SEED), actual=left, seed=SEED)
    fallen.drop(0.2, ON_ITS_BACK, draw_joints(stance, random))
    camera, font, frames = Camera(robot), ImageFont.load_default(size=15), []
    get_up.begin(gait, left)
    for tick in range(round(LONGEST / TICK)):
        fallen.tick()
        if tick % EVERY == 0:
            physics = fallen.physics
            picture = Image.fromarray(camera.take(left, physics.position, physics.rotation, physics.q))
            words = f"{fallen.time:4.1f} s   without {' and '.join(LOST)}: {get_up.doing}"
            ImageDraw.Draw(picture).text((10, SIZE[1] - 26), words, fill=(20, 24, 30), font=font)
            frames.append(picture)
        if not get_up.active:
            break
    palette = frames[len(frames) // 2].quantize(COLOURS)
    frames = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    path = pathlib.Path(__file__).with_name("getting_up.gif")
    lasts = [round(1000 * EVERY * TICK)] * (len(frames) - 1) + [2000]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=lasts, loop=0, optimize=True)
    print(f"{path}: {len(frames)} frames, {path.stat().st_size / 1e6:.2f} MB; {get_up.doing} after {fallen.time:.1f} s")


if __name__ == "__main__":
    main()
