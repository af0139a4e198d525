"""The live link: what is sent over the loopback is received, whatever happens to packets and to either side."""

import socket
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import count
from threading import Event, Thread
from time import sleep

import numpy as np
import pytest

from subband.codecs.vc2 import Decoder, Encoder, Settings, VideoFormat, decode
from subband.codecs.vc2 import decoder as decoding
from subband.codecs.vc2 import encoder as encoding
from subband.codecs.vc2.rtp import Depacketiser, Packetiser
from subband.codecs.vc2.stream import UnitWriter
from subband.errors import ArgumentError
from subband.media import Frame, SourceInfo, link, open_sink
from subband.media.link import LinkSource, split_address

av = pytest.importorskip("av")

INFO = SourceInfo("film", (64, 128, 3), np.dtype("uint8"), colours="ycbcr", rate=Fraction(50), chroma_steps=(2, 2))
#: Seconds that nothing takes, however busy the machine is.
LONG = 300
SETTINGS = Settings(quantiser=12, depth=3, slice_size=(16, 32))


def draw(number, info=INFO):
    rng = np.random.default_rng(number)
    y, x = np.mgrid[: info.shape[0], : info.shape[1]]
    luma = 128 + 80 * np.sin((x + 4 * number) / 11) * np.cos(y / 9) + rng.normal(0, 4, x.shape)
    pixels = np.full(info.shape, 128, np.uint8)
    pixels[..., 0] = np.clip(luma, 0, 255)
    return Frame(pixels, number)


def find_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def listen(port, stop):
    """Open a port, which whoever waits for that may hold for a moment."""
    for _ in range(5000):
        with suppress(ArgumentError):
            return LinkSource(f"rtp://:{port}", colours="ycbcr", stop=stop)
        stop.wait(0.01)
    raise AssertionError("the port is not free")


def wait_until_open(port):
    """Wait until nobody else can listen to a port."""
    for _ in range(5000):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            try:
                other.bind(("127.0.0.1", port))
            except OSError:
                return
        sleep(0.02)
    raise AssertionError("nobody listens")


class Receiver(Thread):
    """Receives so many frames, or until it is stopped."""

    def __init__(self, port, most):
        super().__init__(daemon=True)
        self.port, self.most = port, most
        self.frames, self.stop, self.count, self.missing = [], Event(), None, None
        self.start()

    def run(self):
        with listen(self.port, self.stop) as source:
            self.info = source.info
            for frame in source:
                self.frames.append(frame)
                if len(self.frames) == self.most:
                    break
            self.count, self.missing = source.count, source.missing


def send(port, frames, info=INFO):
    with open_sink(f"rtp://127.0.0.1:{port}", info, settings=SETTINGS) as sink:
        for frame in frames:
            sink.write(frame)
        return sink.session


def code(count, size=300):
    """Return the packets of some frames, frame by frame, and the frames as a decoder of a file sees them."""
    video = VideoFormat(128, 64, "4:2:0")
    encoder, packetiser, writer = Encoder(video, replace(SETTINGS, compact=True)), Packetiser(7, size), UnitWriter()
    packets, data = [], b""
    for number in range(count):
        luma = draw(number).pixels[..., 0]
        units = encoder.make_units([np.ascontiguousarray(luma), *[np.full((32, 64), 128, np.uint8)] * 2])
        packets.append(packetiser.make(units, 1800 * number))
        data += writer.write(units)
    return packets, list(decode(data))


def receive(packets):
    depacketiser, decoder, frames = Depacketiser(), Decoder(tolerant=True), []
    for number, packet in enumerate(packets):
        for unit in depacketiser.feed(packet, number / 1000):
            frames += decoder.feed(unit)
    return frames + decoder.flush(), depacketiser.count


def is_same(frame, other):
    return all(np.array_equal(a, b) for a, b in zip(frame.planes, other.planes, strict=True))


def test_what_is_sent_is_received():
    port = find_port()
    receiver = Receiver(port, 6)
    wait_until_open(receiver.port)
    frames = [draw(number) for number in range(6)]
    session = send(port, frames)
    receiver.join(LONG)
    assert len(receiver.frames) == 6
    assert receiver.info.rate == 50
    assert (receiver.count.lost, receiver.count.incomplete, receiver.missing) == (0, 0, 0)
    for frame, known in zip(receiver.frames, frames, strict=True):
        assert np.abs(frame.pixels.astype(int) - known.pixels).max() < 8
    assert f"m=video {port} RTP/AVP 96" in session


def test_senders_may_come_back():
    port = find_port()
    receiver = Receiver(port, 8)
    wait_until_open(receiver.port)
    frames = [draw(number) for number in range(4)]
    send(port, frames)
    send(port, frames)
    receiver.join(LONG)
    assert len(receiver.frames) == 8
    assert receiver.count.restarts == 1
    np.testing.assert_array_equal(receiver.frames[0].pixels, receiver.frames[4].pixels)


def test_receivers_may_come_later_and_stop():
    port = find_port()
    done = Event()

    def send_on():
        with open_sink(f"rtp://127.0.0.1:{port}", INFO, settings=SETTINGS) as sink:
            for number in count():
                sink.write(draw(number % 8))
                if done.is_set():
                    return

    sender = Thread(target=send_on, daemon=True)
    sender.start()
    for _ in range(2):
        receiver = Receiver(port, 3)
        receiver.join(LONG)
        assert len(receiver.frames) == 3
    done.set()
    sender.join(LONG)
    assert not sender.is_alive()


def test_receivers_stop_when_they_are_told():
    stop = Event()
    stop.set()
    with pytest.raises(ArgumentError, match="no frame came"):
        LinkSource(f"rtp://:{find_port()}", stop=stop)


def test_ports_that_are_taken_are_refused():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        with pytest.raises(ArgumentError, match="cannot be listened to"):
            LinkSource(f"rtp://:{other.getsockname()[1]}")


@pytest.mark.parametrize("address", ["rtp://host:99999", "rtp://host/path", "file:///x", "rtp://[::1"])
def test_addresses_that_are_none_are_refused(address):
    with pytest.raises(ArgumentError, match="rtp://host:port"):
        split_address(address)


def test_receivers_listen_to_this_machine_unless_told():
    assert split_address("rtp://:5004") == ("127.0.0.1", 5004)
    assert split_address("rtp://0.0.0.0:6000") == ("0.0.0.0", 6000)


def test_packets_are_small_and_marked():
    (packets,), _ = code(1)
    assert max(map(len, packets)) <= 300
    assert [packet[1] >> 7 for packet in packets] == [0] * (len(packets) - 1) + [1]


@pytest.mark.parametrize("distance", [2, 5, 30])
def test_packets_that_overtake_each_other_are_sorted(distance):
    packets, known = code(4)
    flat = [packet for frame in packets for packet in frame]
    rng = np.random.default_rng(distance)
    keys = np.arange(len(flat)) + rng.integers(0, distance + 1, len(flat))
    order = np.argsort(keys, kind="stable")
    assert (order != np.arange(len(flat))).any()
    # a receiver takes the first number that it sees for the first of all
    order = [0, *(number for number in order if number)]
    found, count = receive([flat[number] for number in order])
    assert (count.lost, count.incomplete) == (0, 0)
    assert all(is_same(frame, other) for frame, other in zip(found, known, strict=True))


def test_packets_that_come_twice_count_once():
    packets, known = code(2)
    found, count = receive([packet for frame in packets for packet in frame for _ in (0, 1)])
    assert all(is_same(frame, other) for frame, other in zip(found, known, strict=True))
    assert count.late == len(packets[0]) + len(packets[1])


def test_lost_slices_are_those_of_the_frame_before():
    packets, known = code(12)
    lost = 9  # of the second frame
    kept = [
        packet for number, frame in enumerate(packets) for k, packet in enumerate(frame) if (number, k) != (1, lost)
    ]
    found, count = receive(kept)
    assert (count.lost, count.incomplete) == (1, 1)
    assert len(found) == len(known)
    assert found[1].missing > 0
    assert not is_same(found[1], known[1])
    assert [is_same(frame, other) for frame, other in zip(found[2:], known[2:], strict=True)] == [True] * 10
    error = np.abs(found[1].planes[0].astype(int) - known[1].planes[0])
    # only what was lost differs
    assert np.mean(error > 0) < 0.5


def test_one_in_a_hundred_lost_leaves_all_frames_there():
    packets, known = code(40)
    rng = np.random.default_rng(3)
    flat = [packet for frame in packets for packet in frame]
    found, count = receive([flat[0], *(packet for packet in flat[1:] if rng.random() > 0.01)])
    assert count.lost > 5
    # a frame whose parameters were lost cannot be shown
    assert len(known) - 3 <= len(found) <= len(known)
    assert count.incomplete < len(known)


def test_frames_that_lost_their_parameters_have_those_of_the_frame_before():
    packets, known = code(12)
    # the sequence header, and the parameters
    kept = [packet for number, frame in enumerate(packets) for k, packet in enumerate(frame) if (number, k) != (2, 1)]
    found, count = receive(kept)
    assert (count.lost, len(found)) == (1, 12)
    assert all(is_same(frame, other) for frame, other in zip(found, known, strict=True))


@pytest.mark.parametrize(("patience", "lost"), [(0.3, 0), (0.05, 1)])
def test_packets_are_waited_for_as_long_as_is_said(patience, lost):
    packets, known = code(8)
    flat = [packet for frame in packets for packet in frame]
    flat.insert(150, flat.pop(20))
    depacketiser, decoder, found = Depacketiser(patience), Decoder(tolerant=True), []
    for number, packet in enumerate(flat):
        for unit in depacketiser.feed(packet, number / 1000):
            found += decoder.feed(unit)
    assert (depacketiser.count.lost, depacketiser.count.late) == (lost, lost)
    assert len(found) == len(known)
    assert sum(not is_same(frame, other) for frame, other in zip(found, known, strict=True)) == lost


def test_what_waits_for_a_sender_that_has_gone_is_taken_in_order():
    packets, known = code(3)
    lost = 5  # of the third frame, whose other packets wait for it when another sender comes
    other = [packet[:8] + bytes(4) + packet[12:] for packet in packets[0]]
    flat = [packet for frame in packets for packet in frame]
    del flat[len(packets[0]) + len(packets[1]) + lost]
    depacketiser, decoder, found = Depacketiser(), Decoder(tolerant=True), []
    for packet in flat + other:
        for unit in depacketiser.feed(packet):
            found += decoder.feed(unit)
    count = depacketiser.count
    assert (count.lost, count.restarts, count.incomplete, len(found)) == (1, 1, 1, 4)
    assert [is_same(frame, other) for frame, other in zip(found, [*known, known[0]], strict=True)] == [
        True, True, False, True
    ]  # fmt: skip


def test_numbers_go_round():
    packets, known = code(2)
    shifted = []
    for number, packet in enumerate(packet for frame in packets for packet in frame):
        shifted.append(packet[:2] + ((65530 + number) % 65536).to_bytes(2, "big") + packet[4:])
    found, count = receive(shifted)
    assert count.lost == 0
    assert all(is_same(frame, other) for frame, other in zip(found, known, strict=True))


def test_anything_may_arrive():
    rng = np.random.default_rng(0)
    depacketiser = Depacketiser()
    for length in range(200):
        assert depacketiser.feed(bytes(length)) == []
        depacketiser.feed(rng.bytes(length))
    assert depacketiser.count.refused > 200


def test_slices_longer_than_a_packet_have_one_of_their_own():
    packets, known = code(1, size=100)
    assert max(map(len, packets[0])) > 100
    found, _ = receive(packets[0])
    assert is_same(found[0], known[0])


def test_fields_are_marked():
    video = VideoFormat(64, 64, "4:2:2", is_interlaced=True)
    planes = [np.full(shape, 99, np.uint8) for shape in video.plane_shapes]
    packets = Packetiser(1).make(Encoder(video, SETTINGS).make_units(planes), 0)
    assert {packet[14] for packet in packets if packet[15] == 0xEC} == {2, 3}
    frames, _ = receive(packets)
    assert len(frames) == 1


LARGE = replace(INFO, shape=(384, 384, 3))


def make_packets(info, count, size=1400):
    """Return the packets of some frames without a loss, frame by frame."""
    rows, columns = info.shape[:2]
    encoder, packetiser = Encoder(VideoFormat(columns, rows, "4:2:0")), Packetiser(7, size)
    planes = [draw(0, info).pixels[..., 0].copy(), *[np.full((rows // 2, columns // 2), 128, np.uint8)] * 2]
    return [packetiser.make(encoder.make_units(planes), 1800 * number) for number in range(count)]


def test_packets_leave_before_the_last_slice_is_coded(monkeypatch):
    has_left = []
    own = encoding.encode_slices
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        taken.bind(("127.0.0.1", 0))
        taken.settimeout(LONG)

        def encode_slices(*arguments):
            (first, _), lengths = arguments[6], arguments[4]
            if first > len(lengths) // 2:
                # some slices are not coded yet, and those before them arrive all the same: else this ends in time
                while not has_left or has_left[-1][15] != 0xEC or has_left[-1][26:28] == bytes(2):
                    has_left.append(taken.recv(1 << 16))
            own(*arguments)

        monkeypatch.setattr(encoding, "encode_slices", encode_slices)
        port = taken.getsockname()[1]
        with open_sink(f"rtp://127.0.0.1:{port}", LARGE, settings=Settings()) as sink:
            sink.write(draw(0, LARGE))
    assert [packet[15] for packet in has_left] == [0x00, 0xEC, 0xEC]


def test_slices_are_decoded_while_others_are_on_their_way(monkeypatch):
    has_decoded = Event()
    own = decoding.decode_slices

    def decode_slices(*arguments):
        whole = own(*arguments)
        has_decoded.set()
        return whole

    monkeypatch.setattr(decoding, "decode_slices", decode_slices)
    (packets,) = make_packets(LARGE, 1)
    port = find_port()
    receiver = Receiver(port, 1)
    wait_until_open(receiver.port)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for packet in packets[:-1]:
            sender.sendto(packet, ("127.0.0.1", port))
        assert has_decoded.wait(LONG)
        assert not receiver.frames
        sender.sendto(packets[-1], ("127.0.0.1", port))
        receiver.join(LONG)
    assert len(receiver.frames) == 1
    assert receiver.missing == 0
    np.testing.assert_array_equal(receiver.frames[0].pixels[..., 0], draw(0, LARGE).pixels[..., 0])


def test_the_last_frame_comes_though_a_packet_is_lost_and_no_other_follows():
    (packets,) = make_packets(LARGE, 1)
    port = find_port()
    receiver = Receiver(port, 1)
    wait_until_open(receiver.port)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for number, packet in enumerate(packets):
            if number != len(packets) - 2:
                sender.sendto(packet, ("127.0.0.1", port))
        receiver.join(LONG)
    assert len(receiver.frames) == 1
    assert receiver.missing > 0
    assert receiver.count.lost == 1


def test_who_takes_frames_too_slowly_loses_packets_and_is_told(monkeypatch):
    monkeypatch.setattr(link, "_MOST_WAITING", 100_000)
    # one sender, whose packets are counted on: those of another stream with its number would be late ones
    packets = iter(make_packets(LARGE, 120))
    port, goes_on, stop = find_port(), Event(), Event()
    found, overruns = [], []

    def take():
        with listen(port, stop) as source:
            for frame in source:
                overruns.append(lambda: source.count.overrun)
                found.append((frame, source._size))
                goes_on.wait(LONG)

    receiver = Thread(target=take, daemon=True)
    receiver.start()
    wait_until_open(port)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:

        def send_until(has_happened):
            while not has_happened():
                for packet in next(packets):
                    sender.sendto(packet, ("127.0.0.1", port))
                stop.wait(0.2)

        send_until(lambda: found)
        send_until(lambda: overruns[0]() > 0)
        assert len(found) == 1
        goes_on.set()
        send_until(lambda: len(found) > 1)
    stop.set()
    receiver.join(LONG)
    # one batch may come on top of what is allowed
    assert max(size for _, size in found) < 100_000 + 64 * 1500


def test_ffmpeg_receives_ours(tmp_path):
    port = find_port()
    info = replace(INFO, shape=(64, 128, 3))
    frames = [draw(number) for number in range(30)]
    (tmp_path / "link.sdp").write_text(open_session(port, info))
    found = []

    def take():
        options = {"protocol_whitelist": "file,udp,rtp", "analyzeduration": "100000", "probesize": "100000"}
        with av.open(str(tmp_path / "link.sdp"), format="sdp", options=options, timeout=LONG) as container:
            for frame in container.decode(video=0):
                found.append(np.array(np.frombuffer(frame.planes[0], np.uint8).reshape(frame.height, -1)[:, :128]))
                if len(found) == 5:
                    return

    receiver = Thread(target=take, daemon=True)
    receiver.start()
    ours = Receiver(find_port(), 30)
    wait_until_open(ours.port)
    # it may take a while to listen
    for _ in range(100):
        if receiver.is_alive():
            send(port, frames)
    receiver.join(LONG)
    send(ours.port, frames)
    ours.join(LONG)
    assert len(found) == 5
    known = [frame.pixels[..., 0] for frame in ours.frames]
    assert all(any(np.array_equal(frame, other) for other in known) for frame in found)


def open_session(port, info):
    sink = open_sink(f"rtp://127.0.0.1:{port}", info, settings=SETTINGS)
    sink.abort()
    return sink.session


def test_we_receive_that_of_ffmpeg():
    port = find_port()
    receiver = Receiver(port, 4)
    wait_until_open(receiver.port)
    known = []
    with av.open(f"rtp://127.0.0.1:{port}", "w", format="rtp", options={"strict": "-2"}) as container:
        stream = container.add_stream("vc2", rate=25, options={"strict": "-1"})
        stream.width, stream.height, stream.pix_fmt, stream.bit_rate = 128, 64, "yuv420p", 3_000_000
        decoder = av.CodecContext.create("dirac", "r")
        for number in range(12):
            frame = av.VideoFrame(128, 64, "yuv420p")
            for plane in frame.planes:
                np.frombuffer(plane, np.uint8)[:] = 128
            np.frombuffer(frame.planes[0], np.uint8).reshape(64, -1)[:, :128] = draw(number).pixels[..., 0]
            frame.pts = number
            for packet in stream.encode(frame):
                known += decoder.decode(av.Packet(bytes(packet)))
                container.mux(packet)
    receiver.join(LONG)
    assert len(receiver.frames) == 4
    planes = [np.frombuffer(frame.planes[0], np.uint8).reshape(64, -1)[:, :128] for frame in known]
    for frame in receiver.frames:
        assert any(np.array_equal(frame.pixels[..., 0], plane) for plane in planes)
