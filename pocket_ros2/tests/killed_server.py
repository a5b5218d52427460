"""What a client sees when its server is killed and started again; prints it as JSON. Plain rclpy.

Without arguments it is the client, with `server` the server.
"""

import json
import subprocess
import sys

import rclpy
from std_srvs.srv import Trigger


def serve():
    node = rclpy.create_node("server")
    node.create_service(Trigger, "here", lambda request, response: response)
    print("ready", flush=True)
    rclpy.spin(node)


def started():
    process = subprocess.Popen([sys.executable, __file__, "server"], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


def observed():
    node = rclpy.create_node("client")
    client, seen = node.create_client(Trigger, "here"), {}

    def call(timeout):
        future = client.call_async(Trigger.Request())
        rclpy.spin_until_future_complete(node, future, timeout_sec=timeout)
        return future

    server = started()
    try:
        assert client.wait_for_service(timeout_sec=10)
        seen["alive"] = call(10).done()
        server.kill()
        server.wait()
        seen["ready though killed"] = client.service_is_ready()
        lost = call(0.2)
        server = started()
        # Until the new one is discovered, further calls may be lost too.
        seen["sent after"] = any(call(0.5).done() for _ in range(20))
        seen["sent before"] = lost.done()
    finally:
        server.kill()
        server.wait()
    return seen


if __name__ == "__main__":
    rclpy.init()
    if sys.argv[1:] == ["server"]:
        serve()
    else:
        print(json.dumps(observed()))
