"""Draws films of a robot in MuJoCo that loses legs; nobody tells it, it finds out and walks on.

MUJOCO_GL=osmesa PYTHONPATH=$PYTHONPATH:test python docs/draw_film.py [walking_on] [over_blocks]

walking_on.gif: two legs on level ground. over_blocks.gif: one leg on blocks of 30 mm, servos=real. It needs mujoco,
pillow and Debian's libosmesa6 (or MUJOCO_GL=egl), and takes some 2 minutes a film.

The truth is MuJoCo with another mass, payload, servos and friction than the model that gait and detector have.
"""

import pathlib
import sys
import time
from typing import NamedTuple

import mujoco
import numpy as np
from PIL import Image, ImageDraw, ImageFont
from support.walks import walking

from hexapod_dynamics.onboard.simulation import TICK
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import quaternion_from_rotation
from hexapod_dynamics.simulation import Truth

SIZE, EVERY = (480, 270), 5  # pixels; a frame each so many ticks
COMMANDED = 0.077  # [m/s]


class Scene(NamedTuple):
    """A film: what is lost, truth, seconds of walking before the film, before the loss and after it, seed, colours."""

    lost: tuple[str, ...]
    truth: Truth
    learns: float
    before: float
    after: float
    seed: int
    colours: int


SCENES = {
    "walking_on": Scene(
        ("RM", "LM"), Truth(mass=1.1, payload=0.15, stiffness=0.85, friction=0.5), 4.0, 3.0, 12.0, 3, 64
    ),
    "over_blocks": Scene(
        ("RM",), Truth.parse("servos=real,seed=7,friction=0.7,ground=blocks:0.03"), 4.0, 3.0, 12.0, 3, 48
    ),
}
# Height field in the picture: where it begins and ends, along and across [m], and between two points.
FIELD, POINT = ((-0.6, 3.0), (-0.9, 0.9)), 0.0125


class Camera:
    """Pictures of a robot on a chequered ground, with the shapes of its URDF; ground: None where it is level."""

    def __init__(self, robot, ground=None):
        self.robot, self._ground, self._made, self._place = robot, ground, {}, None

    def _add_ground(self, spec):
        """Add the ground to a model: a plane, or the height field of a Ground."""
        xs, ys = (np.arange(low, high, POINT) for low, high in FIELD)
        heights = np.zeros(1) if self._ground is None else self._ground.heights(xs, ys)
        low, high = heights.min(), heights.max()
        if high == low:
            spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], material="ground")
            return
        size = [0.5 * (xs[-1] - xs[0]), 0.5 * (ys[-1] - ys[0]), high - low, 0.02]
        field = spec.add_hfield(name="relief", nrow=len(ys), ncol=len(xs), size=size)
        field.userdata = ((heights - low) / (high - low)).ravel()
        place = [0.5 * (xs[0] + xs[-1]), 0.5 * (ys[0] + ys[-1]), low]
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_HFIELD, hfieldname="relief", pos=place, rgba=[0.80, 0.82, 0.84, 1.0]
        )

    def _renderer(self, morphology):
        key = tuple(sorted(morphology.parameters().items()))
        if key not in self._made:
            compiler = '<mujoco><compiler discardvisual="false" fusestatic="false"/></mujoco>'
            urdf = self.robot.to_urdf(morphology)
            end = urdf.index(">", urdf.index("<robot")) + 1
            spec = mujoco.MjSpec.from_string(urdf[:end] + compiler + urdf[end:])
            spec.body("base_link").add_freejoint()
            spec.visual.headlight.ambient, spec.visual.headlight.diffuse = [0.55] * 3, [0.45] * 3
            spec.visual.global_.offwidth, spec.visual.global_.offheight = SIZE
            kinds, patterns = mujoco.mjtTexture, mujoco.mjtBuiltin
            chequer, sky = ([0.83, 0.85, 0.87], [0.74, 0.77, 0.80]), ([0.93, 0.95, 0.97],) * 2
            for name, kind, pattern, colours, size in (
                ("chequer", kinds.mjTEXTURE_2D, patterns.mjBUILTIN_CHECKER, chequer, 64),
                ("sky", kinds.mjTEXTURE_SKYBOX, patterns.mjBUILTIN_FLAT, sky, 32),
            ):
                one, other = colours
                spec.add_texture(name=name, type=kind, builtin=pattern, rgb1=one, rgb2=other, width=size, height=size)
            material = spec.add_material(name="ground", texrepeat=[5, 5], texuniform=True)
            material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "chequer"
            self._add_ground(spec)
            spec.worldbody.add_light(
                type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL, pos=[0, 0, 3], dir=[-0.3, 0.4, -1], diffuse=[0.5] * 3
            )
            model = spec.compile()
            self._made[key] = model, mujoco.MjData(model), mujoco.Renderer(model, SIZE[1], SIZE[0])
        return self._made[key]

    def take(self, morphology, position, rotation, q):
        """Picture (height, width, 3) of a robot at this place in this posture."""
        model, data, renderer = self._renderer(morphology)
        x, y, z, w = quaternion_from_rotation(rotation)
        data.qpos[:7] = [*position, w, x, y, z]
        for joint, angle in zip(self.robot.joint_names, q, strict=True):
            number = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, joint)
            if number >= 0:
                data.qpos[model.jnt_qposadr[number]] = angle
        mujoco.mj_kinematics(model, data)
        view = mujoco.MjvCamera()
        self._place = np.array(position[:2]) if self._place is None else self._place
        self._place += 0.15 * (position[:2] - self._place)
        view.lookat[:] = [*self._place, 0.06]
        view.distance, view.azimuth, view.elevation = 0.78, 125.0, -26.0
        renderer.update_scene(data, view)
        return renderer.render().copy()


def draw(name, scene):
    """Walk, render, write the film, and print what it shows."""
    robot = Robot.jethexa()
    twist = (COMMANDED, 0.0, 0.0)
    walk = walking(scene.truth, scene.seed, physics="mujoco", twist=twist, seconds=scene.learns)  # the detector learns
    camera = Camera(robot, walk.physics.ground if scene.truth.terrain else None)
    font = ImageFont.load_default(size=15)
    whole, start, frames, places, found = Morphology.whole(robot), walk.time, [], [], None
    for tick in range(round((scene.before + scene.after) / TICK)):
        now = walk.time - start
        if abs(now - scene.before) < 0.5 * TICK:
            walk.break_parts(whole.without(*scene.lost))
        walk.step()
        physics = walk.physics
        if found is None and not walk.declared.existing_mask.all():
            missing = [leg.name for leg in robot.legs if not walk.declared.links(leg.name)]
            if set(missing) == set(scene.lost):
                found = now
        places.append(physics.position[:2].copy())
        if tick % EVERY:
            continue
        picture = Image.fromarray(camera.take(physics.morphology, physics.position, physics.rotation, physics.q))
        back = round(2.6 / TICK)
        speed = np.linalg.norm(places[-1] - places[-back]) / (back * TICK) if len(places) > back else COMMANDED
        words = ["walking" if now < scene.before else f"{' and '.join(scene.lost)} torn off; nobody tells it"]
        if found is not None:
            words.append(f"found after {found - scene.before:.1f} s")
        draw = ImageDraw.Draw(picture)
        draw.text((10, 8), ";  ".join(words), fill=(20, 24, 30), font=font)
        draw.text(
            (10, SIZE[1] - 26),
            f"{now:4.1f} s   {100 * speed:4.1f} cm/s of {100 * COMMANDED:.1f}",
            fill=(20, 24, 30),
            font=font,
        )
        frames.append(picture)
    palette = frames[len(frames) // 2].quantize(scene.colours)
    frames = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    path = pathlib.Path(__file__).with_name(f"{name}.gif")
    frames[0].save(
        path, save_all=True, append_images=frames[1:], duration=round(1000 * EVERY * TICK), loop=0, optimize=True
    )
    way = np.linalg.norm(places[-1] - places[-round(5.0 / TICK)])
    print(
        f"{path}: {len(frames)} frames, {path.stat().st_size / 1e6:.2f} MB; found {found}, last 5 s {way / 5.0:.4f} m/s"
    )


if __name__ == "__main__":
    for wanted in sys.argv[1:] or SCENES:
        begin = time.monotonic()
        draw(wanted, SCENES[wanted])
        print(f"{time.monotonic() - begin:.0f} s")
