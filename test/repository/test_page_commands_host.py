"""The commands of the pages for programs of the computer, not of ROS or Python, are run.

By the program itself where it is here and changes nothing on this computer; what only a robot has is a stand-in that
writes its words down.
"""

import http.server
import json
import os
import re
import shutil
import socketserver
import subprocess
import threading

import pytest
from support.page_commands import ALL, HOST, ROOT

pytestmark = pytest.mark.skipif(not (ROOT / "docs").exists(), reason="the pages are in the source tree only")
COMMANDS = {" ".join(words): line for _, line, words in ALL if words[0] in HOST}
CONTAINERS = [command for command in COMMANDS if command.startswith(("docker ", "deploy/docker_run"))]
TO_UNITS = {
    "systemctl disable --now start_app_node.service",
    "systemctl disable --now hexapod",
    "systemctl enable --now jethexa_bringup",
}
CLOCKS = ["nvpmodel -m 0", "jetson_clocks"]
OWNER = "fuser /dev/ttyTHS1"
TUNNEL = "ssh -L 8080:127.0.0.1:8080 robot"
PACKAGES = "apt install git build-essential python3-dev python3-venv"
DEBIAN = "scripts/debian_package jammy DIRECTORY"
RECORD = '#!/bin/sh\necho "${0##*/}" "$@" >>"$RECORD"\n'
SUDO = '#!/bin/sh\nexec "$@"\n'
# Into a root file system of its own, in which nothing runs that could be started or reloaded.
SYSTEMCTL = """#!/bin/bash
[ "$1" = daemon-reload ] || exec {systemctl} --root="$UNITS" "${{@/#--now/--quiet}}"
"""
COPY = '#!/bin/bash\nexec /bin/cp "${1/#\\/opt\\/hexapod_dynamics/.}" "$UNITS$2"\n'
VENDOR = "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"


def test_every_command_for_a_program_of_the_computer_is_run():
    assert sorted([*CONTAINERS, *TO_UNITS, *CLOCKS, OWNER, TUNNEL, PACKAGES, DEBIAN]) == sorted(COMMANDS)


def need(program):
    """Skip the test where a program is not installed; return its path."""
    return shutil.which(program) or pytest.skip(f"no {program} here")


def run(line, folder, **stand_ins):
    """Run a line of a page in the repository; stand-ins (text of a script) come before the programs of their names."""
    for name, text in stand_ins.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    given = {"PATH": f"{folder}:{os.environ['PATH']}", "RECORD": str(folder / "record"), "UNITS": str(folder / "units")}
    given |= {"DOCKER_HOST": f"unix://{folder}/docker.sock", "UNSIGNED": "1"}
    return subprocess.run(["bash", "-c", line], cwd=ROOT, env=os.environ | given, capture_output=True, text=True,
                          timeout=60)  # fmt: skip


class Daemon(http.server.BaseHTTPRequestHandler):
    """A Docker daemon of version 20.10: it says what it runs on, refuses everything else and writes it down."""

    asked: list[tuple[str, bytes]] = []

    def do_GET(self):
        """Answer the client, whatever it asks."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        ping, text = self.path.endswith("_ping"), b'{"message": "refused"}'
        if not ping:
            self.asked.append((self.path.split("?")[0].removeprefix("/v1.41"), body))
        self.send_response(200 if ping else 500)
        for name, value in {"Api-Version": "1.41", "Ostype": "linux", "Content-Length": str(len(text))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else text)

    do_HEAD = do_POST = do_GET

    def address_string(self):
        """Return who asks: a Unix socket has no address."""
        return "client"

    def log_message(self, *words):
        """Print nothing."""


@pytest.mark.parametrize("command", CONTAINERS)
def test_docker_takes_the_command_up_to_the_daemon(command, tmp_path):
    """No image is built here, but by CI's other machine (.github/workflows/ci.yml) and scripts/image_without_docker."""
    need("docker")
    Daemon.asked.clear()
    with socketserver.UnixStreamServer(str(tmp_path / "docker.sock"), Daemon) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        said = run(COMMANDS[command].replace("-it ", "-i "), tmp_path, sudo=SUDO).stderr  # -t needs a terminal first
        server.shutdown()
    assert Daemon.asked, said
    place, body = Daemon.asked[-1]
    verb = {"build": "/build", "exec": "/containers/hexapod/json"}
    assert place == verb.get(command.split()[1], "/containers/create"), said
    if command.startswith("deploy/docker_run"):
        host = json.loads(body)["HostConfig"]
        assert {each["PathOnHost"] for each in host["Devices"]} >= {"/dev/ttyTHS1", "/dev/i2c-1"}
        assert host["CapDrop"] == ["ALL"] and host["ReadonlyRootfs"] and not host["Privileged"] and host["AutoRemove"]
        assert host["NetworkMode"] == "host" and {each["Name"] for each in host["Ulimits"]} == {"rtprio", "nice"}


def test_files_and_containers_of_docker_are_those_of_the_repository():
    entry = re.search(r'^ENTRYPOINT \["(.*)"\]$', (ROOT / "deploy" / "Dockerfile").read_text(), re.M)[1]
    name = re.search(r"--name (\w+)", (ROOT / "deploy" / "docker_run").read_text())[1]
    images = set()
    for command in CONTAINERS:
        for file in re.findall(r"-f (\S+)", command):
            assert (ROOT / file).is_file(), command
        if found := re.match(r"docker exec (?:-it )?(\S+) (\S+) ", command):
            assert found.groups() == (name, entry), command
        images |= set(re.findall(r"build .*-t (\S+)", command))
        if command.startswith("docker run"):
            assert images & set(command.split()), command
    assert images


def test_the_robot_is_started_at_boot_and_gives_way_to_the_vendors_programs(tmp_path):
    stand_ins = {"sudo": SUDO, "cp": COPY, "systemctl": SYSTEMCTL.format(systemctl=need("systemctl"))}
    units = tmp_path / "units" / "etc" / "systemd" / "system"
    units.mkdir(parents=True)
    for name in ("jethexa_bringup", "start_app_node"):
        (units / f"{name}.service").write_text(VENDOR)

    def state(name):
        return run(f"systemctl is-enabled {name}", tmp_path, **stand_ins).stdout.strip()

    done = run("{ yes n | head -7; echo y; } | scripts/jetson_setup", tmp_path, **stand_ins)
    assert "1 step(s) done, 0 failed" in done.stdout and state("hexapod") == "enabled", done.stdout + done.stderr
    for unit, before, after in (("start_app_node", "disabled", "disabled"), ("jethexa_bringup", "disabled", "enabled")):
        assert state(unit) == before
        for line in {line for command, line in COMMANDS.items() if unit in command}:
            done = run(line, tmp_path, **stand_ins)
            assert done.returncode == 0, done.stderr
        assert state(unit) == after
    assert state("hexapod") == "disabled"


def test_the_clocks_by_hand_are_those_at_boot(tmp_path):
    done = run(COMMANDS[CLOCKS[0]], tmp_path, sudo=SUDO, nvpmodel=RECORD, jetson_clocks=RECORD)
    assert done.returncode == 0 and (tmp_path / "record").read_text().splitlines() == CLOCKS
    unit = (ROOT / "deploy" / "hexapod.service").read_text()
    assert re.findall(r"^ExecStartPre=-/usr/s?bin/((?:nvp|jetson).*)$", unit, re.M) == CLOCKS


def test_fuser_prints_the_process_that_has_the_port(tmp_path):
    need("fuser")
    port = tmp_path / "port"
    with port.open("w"):
        assert str(os.getpid()) in run(COMMANDS[OWNER].replace("/dev/ttyTHS1", str(port)), tmp_path).stdout.split()


def test_ssh_leads_the_page_here(tmp_path):
    need("ssh")
    said = run(COMMANDS[TUNNEL].replace("ssh ", "ssh -G "), tmp_path).stdout
    assert "localforward 8080 [127.0.0.1]:8080" in said and "hostname robot" in said


def test_apt_has_the_packages_that_the_readme_names(tmp_path):
    need("apt-get")
    if "Candidate: (none)" in subprocess.run(["apt-cache", "policy", "git"], capture_output=True, text=True).stdout:
        pytest.skip("apt has no lists of packages here")
    done = run(COMMANDS[PACKAGES].replace("apt install", "apt-get install --simulate"), tmp_path, sudo=SUDO)
    assert done.returncode == 0, done.stderr


def test_a_debian_package_begins_with_a_clean_ubuntu(tmp_path):
    fails = RECORD + "exit 1\n"
    line = COMMANDS[DEBIAN].replace("DIRECTORY", str(tmp_path / "made"))
    done = run(line, tmp_path, **{"debootstrap": fails, "bloom-generate": fails})
    assert done.returncode == 1 and "Ubuntu jammy" in done.stdout
    assert (tmp_path / "record").read_text().split()[-4:-2] == ["jammy", str(tmp_path / "made" / "jammy")]
