"""Who may not enter: foreign pages, foreign names, those without a token, and those who send too much."""

import io
import json
import os
import struct
import zlib

import httpx
import pytest
from PIL import Image
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from subband.studio.app import make_app
from subband.studio.protocol import pack
from subband.studio.security import COOKIE, HEADERS, UNAUTHORISED
from subband.studio.serving import run_studio
from subband.studio.studio import Studio

TOKEN = "a-token-for-tests-only"


def host_of(serving):
    return f"{serving.address.host}:{serving.address.port}"


def name_cookie(serving):
    """Return what the cookie of a studio is called."""
    return f"{COOKIE}-{serving.address.port}"


def make_bomb():
    """Return a PNG of a few hundred bytes that says it has 60000 × 60000 pixels."""

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "http://127.0.0.1:1", "null", None, "https://localhost", "http://["]
)
def test_a_socket_of_another_origin_is_refused(serving, origin):
    with pytest.raises(InvalidStatus) as caught, connect(f"ws://{host_of(serving)}/live", origin=origin):
        pass
    assert caught.value.response.status_code == 403
    assert serving.studio.count_sessions() == 0


@pytest.mark.parametrize("path", ["/upload?name=a.png", "/export"])
@pytest.mark.parametrize("headers", [{"Origin": "http://evil.example"}, {}, {"Origin": "null"}])
def test_what_another_origin_posts_is_refused(serving, path, headers):
    answer = httpx.post(f"http://{host_of(serving)}{path}", headers=headers, content=b"{}")
    assert answer.status_code == 403
    assert "error" in answer.json()


def test_what_a_browser_says_is_cross_site_is_refused(http):
    answer = http.post("/export", content=b"{}", headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 403


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "10.0.0.1", "", "[::1", "evil.example@localhost"],
)
def test_a_foreign_name_is_refused(http, host):
    assert http.get("/", headers={"Host": host}).status_code in (400, 421)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:80", "10.0.0.1"])
def test_a_foreign_name_gets_no_socket(serving, page_at, host):
    with pytest.raises(InvalidStatus) as caught:
        page_at(serving.address, host)
    assert caught.value.response.status_code == 403


@pytest.mark.parametrize("host", ["localhost:9000", "127.0.0.1", "[::1]:8765"])
def test_names_of_a_tunnel_are_known(http, host):
    assert http.get("/static/nothing", headers={"Host": host}).status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/nothing",
        "/static/nothing.js",
        "/exports/nothing",
        "/upload",
    ],
)
def test_every_answer_has_the_headers(http, path):
    answer = http.get(path)
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http:" not in policy
    assert "access-control-allow-origin" not in answer.headers


def test_refusals_have_the_headers_too(http):
    answer = http.get("/", headers={"Host": "evil.example"})
    assert answer.headers["Content-Security-Policy"] == HEADERS["Content-Security-Policy"]


@pytest.mark.parametrize(
    "path",
    [
        "/static/",
        "/static",
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/__init__.py",
        "/exports/",
        "/exports/../../etc/passwd",
        "/exports/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/uploads",
    ],
)
def test_there_are_no_listings_and_no_other_files(http, path):
    request = http.build_request("GET", path)
    # as it stands, without the client's own tidying
    request.url = request.url.copy_with(raw_path=path.encode())
    answer = http.send(request)
    assert answer.status_code in (404, 405)
    assert "root:" not in answer.text
    assert "import" not in answer.text


@pytest.mark.parametrize(
    "source",
    [
        {"kind": "media", "name": "../../etc/passwd"},
        {"kind": "media", "name": "/etc/passwd"},
        {"kind": "sample", "name": "../data/bunny.mp4"},
        {"kind": "upload", "id": "../x"},
        {"kind": "file", "name": "/etc/passwd"},
        {"kind": "sample"},
        {"kind": ["sample"], "name": {}},
        "clip",
        None,
        7,
    ],
)
def test_sources_are_found_by_name_only(page, source):
    page.send("open", source=source)
    error = page.wait("error")
    assert error["about"] == "source"
    assert "root:" not in error["message"]


def test_media_outside_the_list_are_not_served(tmp_path, page_at):
    secret = tmp_path / "secret.png"
    Image.new("L", (8, 8)).save(secret)
    given = tmp_path / "shown" / "given.png"
    given.parent.mkdir()
    Image.new("L", (8, 8)).save(given)
    with run_studio([given], with_token=False) as serving, page_at(serving.address) as page:
        assert [entry["name"] for entry in page.hello["media"]] == ["given.png"]
        assert str(tmp_path) not in json.dumps(page.hello)
        for name in ("secret.png", "../secret.png", str(secret)):
            page.open("media", name)
            page.wait("error")
        page.open("media", "given.png")
        assert page.wait("opened")["info"]["width"] == 8


def test_no_token_no_entry():
    with run_studio(token=TOKEN) as serving:
        base = f"http://{host_of(serving)}"
        assert serving.address.url == f"{base}/?token={TOKEN}"
        with httpx.Client(base_url=base, headers={"Origin": base}) as client:
            for path in ("/", "/static/studio.css", "/exports/x", "/?token=wrong", "/?token="):
                answer = client.get(path)
                assert answer.status_code == 401
                assert TOKEN not in answer.text
            assert client.post("/upload?name=a.png", content=b"x").status_code == 401
            assert client.get("/", headers={"Cookie": f"{name_cookie(serving)}=wrong"}).status_code == 401
        with connect(f"ws://{host_of(serving)}/live", origin=base) as socket:
            with pytest.raises(ConnectionClosed) as caught:
                socket.recv(timeout=300)
            assert caught.value.rcvd.code == UNAUTHORISED
        assert serving.studio.count_sessions() == 0


def test_the_token_becomes_a_cookie(page_at):
    with run_studio(token=TOKEN) as serving:
        base = f"http://{host_of(serving)}"
        with httpx.Client(base_url=base) as client:
            answer = client.get(f"/?token={TOKEN}")
            assert answer.status_code == 303
            assert answer.headers["Location"] == "/"
            cookie = answer.headers["Set-Cookie"]
            assert "HttpOnly" in cookie
            assert "samesite=strict" in cookie.lower()
            assert client.get("/static/nothing").status_code == 404
        headers = {"Cookie": f"{name_cookie(serving)}={TOKEN}"}
        with page_at(serving.address, additional_headers=headers) as page:
            assert page.hello["page"]


def test_the_token_is_taken_out_of_the_address_each_time():
    with run_studio(token=TOKEN) as serving, httpx.Client(base_url=f"http://{host_of(serving)}") as client:
        for _ in range(2):
            answer = client.get(f"/?token={TOKEN}")
            assert answer.status_code == 303
            assert answer.headers["Location"] == "/"
        assert client.get("/?token=wrong").status_code == 200


def test_cookies_of_other_servers_do_not_disturb():
    with run_studio(token=TOKEN) as serving:
        own = f"{name_cookie(serving)}={TOKEN}"
        # a browser sends the cookies of all ports of a host, and not all of them are as the standard has them
        for cookie in (f'a={{"b": [1, 2]}}; {own}', f"{COOKIE}-1=other; {own}", f"\x01=; {own}; x"):
            answer = httpx.get(f"http://{host_of(serving)}/", headers={"Cookie": cookie})
            assert answer.status_code == 200, cookie


def test_behind_tls_the_cookie_stays_there():
    with run_studio(token=TOKEN) as serving:
        for proto, is_secure in (("https", True), ("http", False)):
            address = f"http://{host_of(serving)}/?token={TOKEN}"
            answer = httpx.get(address, headers={"X-Forwarded-Proto": proto})
            assert ("Secure" in answer.headers["Set-Cookie"]) is is_secure


def test_beyond_loopback_a_token_is_made():
    with run_studio(host="0.0.0.0") as serving:
        assert len(serving.address.token) > 40
        port = serving.address.port
        assert httpx.get(f"http://127.0.0.1:{port}/").status_code == 401
        assert httpx.get(f"http://127.0.0.1:{port}/", headers={"Host": "evil.example"}).status_code == 421
        assert httpx.get(f"http://127.0.0.1:{port}/", headers={"Host": "192.0.2.7:80"}).status_code == 401


def test_behind_a_proxy_a_token_is_made_too(page_at):
    with run_studio(names=["studio.example"]) as serving:
        token = serving.address.token
        assert token
        cookie = {"Cookie": f"{name_cookie(serving)}={token}"}
        headers = {"Host": "studio.example", **cookie}
        assert httpx.get(f"http://{host_of(serving)}/static/nothing", headers=headers).status_code == 404
        origin = "https://studio.example"
        with page_at(serving.address, "studio.example", origin=origin, additional_headers=cookie) as page:
            assert page.hello["page"]


def test_uploads_are_kept_in_a_folder_that_goes_away(page_at):
    stream = io.BytesIO()
    Image.new("RGB", (40, 30), "red").save(stream, "PNG")
    with run_studio(with_token=False) as serving:
        base = f"http://{host_of(serving)}"
        folder = serving.studio.uploads.folder
        answer = httpx.post(
            f"{base}/upload", params={"name": "../../a b.png"}, content=stream.getvalue(), headers={"Origin": base}
        )
        found = answer.json()
        assert found["name"] == "a b.png"
        assert found["info"]["width"] == 40
        assert str(folder) not in answer.text
        files = [path for path in folder.rglob("*") if path.is_file()]
        assert len(files) == 1
        assert (folder.stat().st_mode & 0o077) == 0
        with page_at(serving.address) as page:
            page.open("upload", found["id"])
            assert page.wait("opened")["info"]["title"] == "a b.png"
            assert tuple(page.show(filter="none").pixels()[0, 0]) == (255, 0, 0)
    assert not folder.exists()


def test_uploads_are_capped():
    with run_studio(most_upload=100_000, with_token=False) as serving:
        base = f"http://{host_of(serving)}"
        folder = serving.studio.uploads.folder
        headers = {"Origin": base}
        assert httpx.post(f"{base}/upload?name=a.png", content=bytes(100_001), headers=headers).status_code == 413

        def stream():
            # more than is announced, for nothing is
            for _ in range(100):
                yield os.urandom(10_000)

        try:
            answer = httpx.post(f"{base}/upload?name=a.png", content=stream(), headers=headers)
            assert answer.status_code == 413
        except httpx.HTTPError:
            # the server has hung up while the rest was on its way
            pass
        assert not list(folder.iterdir())


def test_old_uploads_make_room_for_new_ones():
    stream = io.BytesIO()
    Image.effect_noise((200, 200), 90).save(stream, "PNG")
    size = len(stream.getvalue())
    with run_studio(most_upload=size, with_token=False) as serving:
        base = f"http://{host_of(serving)}"
        numbers = [
            httpx.post(f"{base}/upload?name=a.png", content=stream.getvalue(), headers={"Origin": base}).json()["id"]
            for _ in range(6)
        ]
        kept = {path.name for path in serving.studio.uploads.folder.iterdir()}
        assert kept == set(numbers[2:])


def test_uploads_that_are_broken_off_leave_nothing(serving):
    import socket
    import time

    folder = serving.studio.uploads.folder
    host = host_of(serving)
    with socket.create_connection((serving.address.host, serving.address.port)) as raw:
        raw.sendall(
            f"POST /upload?name=a.png HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n"
            "Content-Length: 100000\r\n\r\n".encode()
        )
        raw.sendall(bytes(1000))
        time.sleep(0.3)
    end = time.monotonic() + 300
    while list(folder.iterdir()) and time.monotonic() < end:
        time.sleep(0.05)
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.png", make_bomb(), "pixels"),
        ("a.png", b"", "empty"),
        ("a.png", b"\x89PNG\r\n\x1a\n" + bytes(100), "a.png"),
        ("a.mp4", os.urandom(3000), "a.mp4"),
        ("a.mp4", b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n", "text"),
        ("a.mp4", b"#EXTM3U\n\0\xff\nfile:///etc/passwd\n", "text"),
        ("a.mkv", b"ffconcat version 1.0\nfile /etc/passwd\n\0\xff", "text"),
        ("a.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>", "text"),
        ("a.txt", b"hello", "text"),
    ],
)
def test_uploads_that_are_no_media_are_refused(http, serving, name, content, says):
    answer = http.post("/upload", params={"name": name}, content=content)
    assert answer.status_code == 415
    assert says in answer.json()["error"]
    assert str(serving.studio.uploads.folder) not in answer.text
    assert not list(serving.studio.uploads.folder.iterdir())


def test_large_pictures_need_permission():
    stream = io.BytesIO()
    Image.new("L", (300, 200)).save(stream, "PNG")
    with run_studio(most_pixels=50_000, with_token=False) as serving:
        base = f"http://{host_of(serving)}"
        answer = httpx.post(f"{base}/upload?name=a.png", content=stream.getvalue(), headers={"Origin": base})
        assert answer.status_code == 415
        assert "60000" in answer.json()["error"]


@pytest.mark.parametrize(
    ("data", "header"),
    [
        (b"", {}),
        (b"\xff\xd8\xff\xe0 nothing", {}),
        (make_bomb(), {"format": "png"}),
        (b"x", {"format": "tiff"}),
        (b"x", {"format": ["jpeg"]}),
    ],
)
def test_camera_frames_that_are_none_are_refused(page, data, header):
    page.send("open", source={"kind": "camera"})
    page.wait("opened")
    page.send_camera(data, **header)
    assert page.wait("error")["about"] == "camera"
    page.open()
    page.wait("opened")


def test_camera_frames_are_capped(page):
    page.send("open", source={"kind": "camera"})

    def send_and_wait():
        page.send_camera(bytes(9 * 2**20))
        for _ in range(20):
            page.receive(5)

    with pytest.raises(ConnectionClosed) as caught:
        send_and_wait()
    assert caught.value.rcvd is None or caught.value.rcvd.code == 1009


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "7",
        '"play"',
        "null",
        "{}",
        '{"type": 7}',
        '{"type": "unknown"}',
        '{"type": "__init__"}',
        '{"type": "ack"}',
        '{"type": "ack", "frame": "x"}',
        '{"type": "ack", "frame": 1e999}',
        '{"type": "ack", "frame": NaN}',
        '{"type": "seek"}',
        '{"type": "seek", "position": [1]}',
        '{"type": "settings"}',
        '{"type": "settings", "settings": 7, "number": 1}',
        '{"type": "settings", "settings": {"filter": {}}, "number": 1}',
        '{"type": "settings", "settings": {"tool": "unknown"}, "number": 1}',
        '{"type": "settings", "settings": {}, "number": "x"}',
        '{"type": "format", "wanted": "gif"}',
        '{"type": "histogram", "band": 7}',
        "[" * 50_000,
        '{"type": "' + "x" * 70_000 + '"}',
    ],
)
def test_malformed_messages_get_an_error(page, text):
    page.socket.send(text)
    assert page.wait("error")["message"]
    page.open()
    page.wait("opened")


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"abc",
        b"\xff\xff\xff\xff",
        b"\x00\x00\x00\x00",
        struct.pack("<I", 100) + b"{}",
        pack({"type": "frame"}),
        b"\x02\0\0\0{}",
    ],
)
def test_malformed_binary_messages_get_an_error(page, message):
    page.socket.send(message)
    assert page.wait("error")["about"] == "message"


def test_nonsense_without_end_is_cut_off(page):
    def talk():
        for _ in range(300):
            page.socket.send("nonsense")
            page.receive(5)

    with pytest.raises(ConnectionClosed):
        talk()


@pytest.mark.parametrize(
    "settings", [{"threshold": "12; rm -rf /"}, {"wavelet": "../../x"}, {"bands": "x" * 1000}, {"level": 10**400}]
)
def test_strange_settings_do_not_reach_the_command(page, settings):
    page.send_settings(filter="soft", **settings)
    resolved = page.wait("resolved")
    assert resolved["notes"]
    assert "rm -rf" not in resolved["equivalent"]["command"]


def test_errors_show_nothing_of_the_inside(serving, monkeypatch, caplog):
    import anyio

    def fail(*_):
        raise RuntimeError("secret words of the inside")

    studio = Studio()
    monkeypatch.setattr(studio.exports, "start", fail)
    app = make_app(studio)

    async def ask():
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.post("/export", content=b"{}", headers={"Origin": "http://localhost"})

    answer = anyio.run(ask)
    studio.close()
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text
    assert "secret" in caplog.text


def test_pages_for_people_are_short(http):
    answer = http.get("/nothing", headers={"Accept": "text/html"})
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")
    assert "Traceback" not in answer.text
    assert http.get("/nothing").json() == {"error": "There is nothing here."}


@pytest.mark.parametrize("body", [b"", b"[]", b"7", b"{}", b'{"page": "x"}', b"[" * 50_000, b"x" * 100_000])
def test_malformed_exports_are_refused(http, body):
    answer = http.post("/export", content=body)
    assert answer.status_code in (400, 413)
    assert answer.json()["error"]


def test_volumes_are_refused_before_anything_unpacks_them(http, serving, monkeypatch):
    from subband.studio import library

    def open_source(*_, **__):
        raise AssertionError("it was opened")

    monkeypatch.setattr(library, "open_source", open_source)
    for name in ("bomb.dcm", "bomb.NII", "bomb.npy", "bomb.h5"):
        answer = http.post(f"/upload?name={name}", content=b"\0" * 200 + b"DICM\xff\xfe")
        assert answer.status_code == 415
        assert "volume" in answer.json()["error"]
    assert not list(serving.studio.uploads.folder.iterdir())


def test_half_characters_come_back_escaped(page):
    page.open("\ud800", "\udc00")
    assert "\ud800" in page.wait("error")["message"]
    page.send_settings(bands="\ud800")
    assert page.wait("resolved")["notes"]


def test_media_whose_names_are_no_text_can_be_opened(tmp_path, page_at):
    path = tmp_path / os.fsdecode(b"caf\xe9.png")
    try:
        Image.new("L", (8, 8)).save(path)
    except OSError:
        pytest.skip("this file system wants names that are text")
    with run_studio([path], with_token=False) as serving, page_at(serving.address) as page:
        page.open("media", page.hello["media"][0]["name"])
        assert page.wait("opened")["info"]["width"] == 8
