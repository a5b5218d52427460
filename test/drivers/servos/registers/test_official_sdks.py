"""Our packets are those of the makers' SDKs, byte for byte; the virtual servos answer the SDKs, too."""

import math

import numpy as np
import pytest

from hexapod_dynamics.devices.register_bus import RegisterBusDevice
from hexapod_dynamics.devices.servos import VirtualServos
from hexapod_dynamics.drivers.servos.register_packets import Instruction, Packets

dynamixel = pytest.importorskip("dynamixel_sdk")
feetech = pytest.importorskip("scservo_sdk")
IDS = [1, 2, 7, 200, 18]


class Recorder:
    """A port of an SDK that records what is written."""

    is_using = False

    def __init__(self):
        self.written = b""

    def clearPort(self):
        pass

    def writePort(self, packet):
        self.written += bytes(packet)
        return len(packet)

    def setPacketTimeout(self, length):
        pass

    def taken(self):
        written, self.written, self.is_using = self.written, b"", False
        return written


@pytest.mark.parametrize(("version", "ours"), [(1.0, Packets(1)), (2.0, Packets(2))], ids=["protocol 1", "protocol 2"])
def test_packets_are_those_of_the_dynamixel_sdk(version, ours):
    port, sdk = Recorder(), dynamixel.PacketHandler(version)
    rng = np.random.default_rng(5)
    for _ in range(30):
        servo_id, address, size = (int(rng.integers(low, high)) for low, high in ((1, 252), (0, 140), (1, 12)))
        data = bytes(rng.choice([0xFF, 0xFE, 0x00, 0x12], size).tolist())
        sdk.readTx(port, servo_id, address, size)
        assert port.taken() == ours.read(servo_id, address, size)
        group = dynamixel.GroupSyncWrite(port, sdk, address, size)
        for each in IDS:
            assert group.addParam(each, list(data))
        group.txPacket()
        assert port.taken() == ours.sync_write(address, [(each, data) for each in IDS])
    if version == 2.0:
        group = dynamixel.GroupSyncRead(port, sdk, 126, 10)
        for each in IDS:
            group.addParam(each)
        group.txPacket()
        assert port.taken() == ours.sync_read(126, 10, IDS)
    else:
        # GroupBulkRead of dynamixel-sdk 4.1 itself raises TypeError with protocol 1.
        sdk.bulkReadTx(port, [number for each in IDS for number in (8, each, 36)], 3 * len(IDS))
        assert port.taken() == Packets(1, bulk=True).sync_read(36, 8, IDS)


def test_stuffing_is_that_of_the_dynamixel_sdk():
    """The SDK computes it, and then sends the packet without: `txPacket` of 4.1 drops what `addStuffing` returns."""
    sdk, data = dynamixel.PacketHandler(2.0), b"\xff\xff\xfd\x00\xff\xff\xff\xfd"
    parameters = (116).to_bytes(2, "little") + data
    plain = [0xFF, 0xFF, 0xFD, 0x00, 7, len(parameters) + 3, 0, 3, *parameters, 0, 0]
    ours = Packets(2).build(7, Instruction.WRITE, parameters)
    assert ours[:-2] == bytes(sdk.addStuffing(plain))[:-2]
    crc = sdk.updateCRC(0, list(ours), len(ours) - 2)
    assert ours[-2:] == crc.to_bytes(2, "little")


def test_packets_are_those_of_the_feetech_sdk():
    port, ours = Recorder(), Packets(1)
    sdk = feetech.sms_sts(port)
    sdk.readTx(7, 56, 15)
    assert port.taken() == ours.read(7, 56, 15)
    sdk.syncReadTx(56, 15, IDS, len(IDS))
    assert port.taken() == ours.sync_read(56, 15, IDS)
    group = feetech.GroupSyncWrite(sdk, 42, 6)
    for each in IDS:
        assert group.addParam(each, [1, 2, 3, 4, 5, 6])
    group.txPacket()
    assert port.taken() == ours.sync_write(42, [(each, bytes((1, 2, 3, 4, 5, 6))) for each in IDS])


@pytest.fixture
def device(tmp_path, request):
    servos = VirtualServos([1, 2, 3], [1, 1, 1], [0.1, -0.2, 0.3], loaded=True)
    device = RegisterBusDevice(servos, request.param, tmp_path / "port")
    device.start()
    yield device
    device.stop()


def patient(port):
    """Let an SDK wait long enough for a busy machine."""
    port.setPacketTimeout = lambda length: port.setPacketTimeoutMillis(500)


@pytest.mark.parametrize("device", ["ax12"], indirect=True)
def test_a_virtual_ax12_answers_the_official_sdk(device):
    port, sdk = dynamixel.PortHandler(str(device.link)), dynamixel.PacketHandler(1.0)
    assert port.openPort() and port.setBaudRate(1_000_000)
    patient(port)
    assert sdk.ping(port, 2) == (12, dynamixel.COMM_SUCCESS, 0)
    position, result, error = sdk.read2ByteTxRx(port, 2, 36)
    assert (result, error) == (dynamixel.COMM_SUCCESS, 0)
    assert position == round(512 - 0.2 * 1023 / math.radians(300))
    assert sdk.write2ByteTxRx(port, 2, 30, 600) == (dynamixel.COMM_SUCCESS, 0)
    assert sdk.read2ByteTxRx(port, 2, 30)[0] == 600
    assert sdk.read1ByteTxRx(port, 3, 42)[0] == 118
    port.closePort()


@pytest.mark.parametrize("device", ["xl330"], indirect=True)
def test_a_virtual_xl330_answers_the_official_sdk_also_several_at_once(device):
    port, sdk = dynamixel.PortHandler(str(device.link)), dynamixel.PacketHandler(2.0)
    assert port.openPort() and port.setBaudRate(1_000_000)
    patient(port)
    assert sdk.ping(port, 1) == (1200, dynamixel.COMM_SUCCESS, 0)
    group = dynamixel.GroupSyncRead(port, sdk, 132, 4)
    for servo_id in (1, 2, 3):
        group.addParam(servo_id)
    assert group.txRxPacket() == dynamixel.COMM_SUCCESS
    counts = [group.getData(servo_id, 132, 4) for servo_id in (1, 2, 3)]
    assert counts == [round(2048 + angle * 4096 / math.tau) for angle in (0.1, -0.2, 0.3)]
    port.closePort()


@pytest.mark.parametrize("device", ["sts3215"], indirect=True)
def test_a_virtual_sts3215_answers_the_official_sdk(device):
    port = feetech.PortHandler(str(device.link))
    sdk = feetech.sms_sts(port)
    assert port.openPort() and port.setBaudRate(1_000_000)
    patient(port)
    assert sdk.ping(3)[:2] == (777, feetech.COMM_SUCCESS)
    assert sdk.ReadPos(1)[0] == round(2048 + 0.1 * 4096 / math.tau)
    assert sdk.WritePosEx(1, 2100, 500, 0)[0] == feetech.COMM_SUCCESS
    group = feetech.GroupSyncRead(sdk, 56, 4)
    for servo_id in (1, 2, 3):
        group.addParam(servo_id)
    assert group.txRxPacket() == feetech.COMM_SUCCESS
    assert [group.isAvailable(servo_id, 56, 2)[0] for servo_id in (1, 2, 3)] == [True] * 3
    port.closePort()
