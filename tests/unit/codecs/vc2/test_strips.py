"""Images that are coded, sent and decoded part by part are those that are coded, sent and decoded as a whole."""

import numpy as np
import pytest

from subband.codecs.vc2 import Decoder, Encoder, Settings, VideoFormat, decode
from subband.codecs.vc2 import decoder as decoding
from subband.codecs.vc2.assembly import Assembly
from subband.codecs.vc2.bits import BitWriter
from subband.codecs.vc2.coded import CodedImage
from subband.codecs.vc2.rtp import Depacketiser, Packetiser
from subband.codecs.vc2.stream import HEADER, HQ_FRAGMENT, HQ_IMAGE, IMAGE_END, LD_IMAGE, UnitWriter, find_units
from subband.errors import CodecError

PLAIN = VideoFormat(256, 128, "4:2:0")
CASES = {
    "rate": (VideoFormat(256, 128, "4:2:2", VideoFormat.make_signal(10)), Settings(rate=4e6, slice_size=(16, 32))),
    "quantiser": (PLAIN, Settings(quantiser=12, depth=3, slice_size=(16, 32))),
    "lossless": (VideoFormat(96, 80, "4:4:4", VideoFormat.make_signal(12)), Settings(depth=2, slice_size=(8, 8))),
    "compact": (PLAIN, Settings(quantiser=24, compact=True, prefix=3, slice_size=(8, 32), wavelet="legall53")),
    "fields": (VideoFormat(128, 96, "4:2:2", is_interlaced=True), Settings(quantiser=8, depth=2, slice_size=(8, 32))),
    "fragments": (PLAIN, Settings(rate=2e6, fragment=700, slice_size=(16, 32))),
    "asymmetric": (PLAIN, Settings(quantiser=8, depth=1, depth_ho=2, wavelet="haar1", wavelet_ho="dd97")),
}


def draw(video, seed=0):
    rng = np.random.default_rng(seed)
    top = (1 << video.bits[0]) - 1
    kind = np.uint8 if video.bits[0] == 8 else np.uint16
    planes = []
    for rows, columns in video.plane_shapes:
        y, x = np.mgrid[:rows, :columns]
        waves = 0.5 + 0.3 * np.sin((x + 9 * seed) / 13) * np.cos(y / 11) + rng.normal(0, 0.02, x.shape)
        planes.append((np.clip(waves, 0, 1) * top).astype(kind))
    return planes


def is_same(frame, other):
    return all(np.array_equal(a, b) for a, b in zip(frame.planes, other.planes, strict=True))


def receive(packets, *, is_tolerant=True, patience=0.05):
    """Return the frames of packets, one a millisecond."""
    depacketiser, decoder, frames = Depacketiser(patience), Decoder(tolerant=is_tolerant), []
    for number, packet in enumerate(packets):
        for unit in depacketiser.feed(packet, number / 1000):
            frames += decoder.feed(unit)
    for unit in depacketiser.give_up(float("inf")):
        frames += decoder.feed(unit)
    return frames + decoder.flush(), depacketiser.count


def code(video, settings, count, size=300):
    """Return packets, frame by frame, and the payloads of the images that they hold."""
    encoder, packetiser = Encoder(video, settings), Packetiser(7, size)
    packets, images = [], []
    for number in range(count):
        units = encoder.make_units(draw(video, number))
        packets.append(packetiser.make(units, 1800 * number))
        images += [payload for code, payload in units if code == HQ_IMAGE]
    return encoder, packets, images


@pytest.mark.parametrize("together", [1, 700, 1 << 16])
@pytest.mark.parametrize("case", CASES)
def test_strips_have_the_bytes_of_the_whole(case, together):
    video, settings = CASES[case]
    whole, parts = Encoder(video, settings), Encoder(video, settings)
    for seed in range(3):
        planes = draw(video, seed)
        made, steps = [(HEADER, parts.header.write())], 0
        for image in parts.code_images(planes, together):
            steps += 1
            if image.done == image.parameters.slice_count:
                made += image.make_units(settings.fragment)
        assert made == whole.make_units(planes)
        assert steps > 2 or together > 700


@pytest.mark.parametrize("case", [case for case in CASES if case != "fragments"])
def test_packets_of_strips_are_those_of_the_whole(case):
    video, settings = CASES[case]
    whole, parts = Encoder(video, settings), Encoder(video, settings)
    known, made = Packetiser(7, 400), Packetiser(7, 400)
    for seed in range(2):
        planes = draw(video, seed)
        packets, early = made.make([(HEADER, parts.header.write())], seed), 0
        for image in parts.code_images(planes, 1000):
            packets += made.cut(image, seed)
            # what is in packets by now has left before the rest of the image was coded
            early += image.done < image.parameters.slice_count and len(packets) > 2
        assert packets == known.make(whole.make_units(planes), seed)
        assert early > 1


def test_images_that_are_not_complete_are_no_units():
    encoder = Encoder(*CASES["quantiser"])
    image = next(encoder.code_images(draw(PLAIN), 500))
    assert 0 < image.done < image.parameters.slice_count
    with pytest.raises(CodecError, match="slices are whole"):
        list(image.make_units())


def test_coded_images_are_read_again():
    encoder = Encoder(*CASES["quantiser"])
    (image,) = encoder.code_images(draw(PLAIN))
    ((_, payload),) = image.make_units()
    again = CodedImage.read(payload, encoder.header.major)
    assert (again.number, again.head, again.done) == (image.number, image.head, image.done)
    assert again.parameters == image.parameters
    np.testing.assert_array_equal(again.starts, image.starts)
    np.testing.assert_array_equal(again.data, image.data)


def test_slices_are_decoded_before_the_last_packet_has_come(monkeypatch):
    video, settings = VideoFormat(512, 512, "4:4:4"), Settings(slice_size=(16, 32))
    _, (packets,), _ = code(video, settings, 1)
    decoded = []
    own = decoding.decode_slices

    def decode_slices(stream, begin, numbers, *others):
        decoded.extend(numbers.tolist())
        return own(stream, begin, numbers, *others)

    monkeypatch.setattr(decoding, "decode_slices", decode_slices)
    depacketiser, decoder = Depacketiser(), Decoder()
    for packet in packets[:-1]:
        for unit in depacketiser.feed(packet):
            assert decoder.feed(unit) == []
    assert decoded == list(range(len(decoded)))
    # a run of 32 KiB may be on its way, and no more
    assert len(decoded) > 0.8 * 512
    frames = [frame for unit in depacketiser.feed(packets[-1]) for frame in decoder.feed(unit)]
    assert sorted(decoded) == list(range(512))
    assert is_same(frames[0], next(decode(Encoder(video, settings).encode(draw(video)))))


def mend(images, kept, major):
    """Return whole images: slices that were not kept have the bytes of the image before, those of the first none."""
    mended, before = [], None
    for payload, own in zip(images, kept, strict=True):
        image = CodedImage.read(payload, major)
        edges, data = image.starts.tolist(), image.data.tobytes()
        slices = [data[edges[k] : edges[k + 1]] for k in range(image.done)]
        if before is None:
            # three components without bytes are zeros
            before = [bytes(image.parameters.prefix + 4)] * image.done
        before = [new if k in own else old for k, (new, old) in enumerate(zip(slices, before, strict=True))]
        mended.append(payload[:4] + image.head + b"".join(before))
    return mended


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("case", ["quantiser", "lossless", "compact"])
def test_what_arrives_in_any_order_with_losses_is_a_whole_image_with_slices_of_the_one_before(case, seed):
    video, settings = CASES[case]
    encoder, packets, images = code(video, settings, 6)
    major = encoder.header.major
    # images whose lengths are in other units have no slices of each other
    assert len({CodedImage.read(image, major).parameters for image in images}) == 1
    rng = np.random.default_rng(seed)
    flat, kept = [], [set() for _ in images]
    across = CodedImage.read(images[0], major).parameters.slices[1]
    for number, frame in enumerate(packets):
        for place, packet in enumerate(frame):
            # the header and the parameters of an image are needed, and something that comes later than what is lost
            is_needed = place < 2 or packet is packets[-1][-1]
            if not is_needed and rng.random() < 0.15:
                continue
            flat.append(packet)
            if place > 1:
                slices, column, row = (int.from_bytes(packet[at : at + 2], "big") for at in (26, 28, 30))
                kept[number] |= set(range(row * across + column, row * across + column + slices))
    # packets overtake each other, those of other frames too
    order = np.argsort(np.arange(len(flat)) + rng.integers(0, 25, len(flat)), kind="stable")
    found, count = receive([flat[k] for k in [0, *(k for k in order if k)]], patience=0.2)
    units = [(HEADER, encoder.header.write()), *((HQ_IMAGE, image) for image in mend(images, kept, major))]
    known = list(decode(UnitWriter().write(units)))
    assert len(found) == len(known) == 6
    assert count.lost > 0
    assert count.late == 0
    total = CodedImage.read(images[0], major).done
    assert [frame.missing for frame in found] == [total - len(own) for own in kept]
    assert all(is_same(frame, other) for frame, other in zip(found, known, strict=True))


def test_who_begins_in_the_middle_of_an_image_has_the_next_ones():
    _, packets, images = code(*CASES["quantiser"], 4)
    for begin in (1, 2, len(packets[0]) // 2, len(packets[0]) - 1):
        found, count = receive([packet for frame in packets for packet in frame][begin:])
        assert [frame.number for frame in found] == [1, 2, 3]
        assert count.lost == 0
        assert all(frame.missing == 0 for frame in found)
    assert len(images) == 4


def test_slices_may_be_cut_anywhere_as_long_as_nothing_is_missing():
    """FFmpeg cuts images without regard to slices, and tells of each fragment that it is the first slice."""
    encoder = Encoder(*CASES["quantiser"])
    (image,) = encoder.code_images(draw(PLAIN))
    data = memoryview(image.data.tobytes())
    for size in (7, 100, 5000):
        assembly = Assembly(0, image.parameters, image.head)
        units = []
        for first in range(0, len(data), size):
            units += assembly.add(1, 0, 0, data[first : first + size])
        units += assembly.finish(is_whole=True)
        assert [unit.code for unit in units] == [HQ_FRAGMENT] * (len(units) - 1) + [IMAGE_END]
        assert b"".join(unit.payload[12:] for unit in units[1:-1]) == data
        assert not assembly.is_torn


def test_behind_a_gap_only_fragments_that_hold_what_they_say_count():
    encoder = Encoder(*CASES["quantiser"])
    (image,) = encoder.code_images(draw(PLAIN))
    edges, data = image.starts.tolist(), memoryview(image.data.tobytes())
    assembly = Assembly(0, image.parameters, image.head)
    units = assembly.add(2, 0, 0, data[: edges[2]]) + assembly.tear()
    units += assembly.add(1, 0, 0, data[edges[3] + 5 : edges[5] + 1])
    units += assembly.add(2, 0, 6, data[edges[6] : edges[8]])
    # one who lies about where it is
    units += assembly.add(3, 60000, 60000, data[edges[8] : edges[11]])
    units += assembly.add(1, 1, 2, data[edges[8] :])
    units += assembly.add(4, 0, 0, data[:0])
    units += assembly.finish(is_whole=True)
    assert assembly.is_torn
    fields = [tuple(int.from_bytes(unit.payload[at : at + 2], "big") for at in (6, 8, 10)) for unit in units[1:-1]]
    assert fields == [(2, 0, 0), (2, 6, 0)]


def test_long_slices_are_not_looked_at_again_and_again(monkeypatch):
    from subband.codecs.vc2 import assembly as assembling

    looks = []
    own = assembling.locate_slices

    def locate_slices(stream, *others):
        looks.append(stream.size)
        return own(stream, *others)

    monkeypatch.setattr(assembling, "locate_slices", locate_slices)
    video = VideoFormat(1024, 1024, "4:4:4", VideoFormat.make_signal(16))
    (image,) = Encoder(video, Settings(slice_size=(1024, 1024), depth=1)).code_images(
        [np.random.default_rng(0).integers(0, 65536, shape).astype(np.uint16) for shape in video.plane_shapes]
    )
    data, size = memoryview(image.data.tobytes()), 1000
    assembly = Assembly(0, image.parameters, image.head)
    units = [unit for first in range(0, len(data), size) for unit in assembly.add(1, 0, 0, data[first : first + size])]
    units += assembly.finish(is_whole=True)
    assert units[1].payload[12:] == data
    assert sum(looks) < 4 * len(data)


def test_fragments_in_files_are_as_before():
    video, settings = CASES["fragments"]
    data = Encoder(video, settings).encode(draw(video))
    assert sum(unit.code == HQ_FRAGMENT for unit in find_units(data)) > 3
    (frame,) = decode(data)
    assert frame.missing == 0


def test_what_is_missing_of_low_delay_is_as_it_was_before_its_prediction():
    head, own = BitWriter(), BitWriter()
    for value in (1, 0, 0, 0, 1):
        head.number(value)
    for _ in range(8):
        head.flag(False)
    head.number(0)
    for value in (1, 2, 5, 4, 700, 13):
        own.number(value)
    own.flag(False)
    slices = np.random.default_rng(0).bytes(20 * 700 // 13)
    payloads = [bytes(4) + own.finish() + slices[:length] for length in (None, 300, 0)]
    data = UnitWriter().write([(HEADER, head.finish()), *((LD_IMAGE, payload) for payload in payloads)])
    decoder = Decoder(tolerant=True)
    frames = [frame for unit in find_units(data) for frame in decoder.feed(unit)]
    assert [frame.missing for frame in frames] == [0, 15, 20]
    assert all(is_same(frame, frames[0]) for frame in frames)
