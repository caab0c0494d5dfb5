"""Who may ask what: addresses, origins, tokens, headers, and files that are nobody's business."""

import os
import socket

import httpx
import PIL.Image
import pytest

from anchornet_tf.studio.config import StudioConfig
from anchornet_tf.studio.library import Library
from anchornet_tf.studio.refusals import Refusal
from tests.studio.api import Api, colored_png
from tests.studio.conftest import RunningStudio, color_engine


def _port(running):
    return running.address.rpartition(":")[2]


@pytest.mark.parametrize(
    "host, status",
    [
        ("127.0.0.1:{port}", 200),
        ("localhost:{port}", 200),
        ("LOCALHOST:{port}", 200),
        ("[::1]:{port}", 200),
        ("evil.example:{port}", 403),
        ("127.0.0.1:1", 403),
        ("127.0.0.1", 403),
        ("127.0.0.1.evil.example:{port}", 403),
        ("", 403),
    ],
)
def test_host(studio_server, host, status):
    headers = {"Host": host.format(port=_port(studio_server))}
    for path in ("/api/v1/state", "/api/v1/work"):
        answer = httpx.get(studio_server.address + path, headers=headers)
        assert answer.status_code == status
        if status == 403:
            assert "Received:" in answer.json()["error"]
    # The page itself neither.
    page = httpx.get(studio_server.address + "/", headers=headers)
    assert (page.status_code == 403) == (status == 403)


@pytest.mark.parametrize(
    "headers, status",
    [
        ({}, 201),
        ({"Origin": "http://127.0.0.1:{port}"}, 201),
        ({"Origin": "http://localhost:{port}"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "https://127.0.0.1:{port}"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 201),
        ({"Content-Type": "text/plain"}, 403),
        ({"Content-Type": "multipart/form-data; boundary=x"}, 403),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 403),
        ({"Content-Type": "image/png"}, 201),
    ],
)
def test_changes_come_from_the_page_alone(studio_server, headers, status):
    headers = {name: value.format(port=_port(studio_server)) for name, value in headers.items()}
    address = f"{studio_server.address}/api/v1/images"
    assert httpx.post(address, content=colored_png(), headers=headers).status_code == status
    assert len(studio_server.studio.library.all()) == 4 + (status == 201)


def test_reading_from_another_site_is_refused(studio_server):
    address = f"{studio_server.address}/api/v1/state"
    assert httpx.get(address, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert httpx.get(address, headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200


def test_headers(studio_server):
    for path in ("/api/v1/state", "/", "/api/v1/nothing"):
        headers = httpx.get(studio_server.address + path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers and "access-control-allow-origin" not in headers
    assert httpx.get(f"{studio_server.address}/api/v1/state").headers["cache-control"] == "no-store"


def test_a_token_where_others_can_reach_it(image_folder, studio_cache):
    config = StudioConfig(port=0, host="0.0.0.0")
    running = RunningStudio(config, [image_folder], color_engine(), image_folder)
    try:
        token = running.server.token
        assert token and token in running.server.address
        address = f"{running.address}/api/v1"
        assert httpx.get(f"{address}/state").status_code == 401
        assert httpx.get(f"{address}/state", headers={"X-Studio-Token": "x"}).status_code == 401
        assert httpx.get(f"{address}/state?token=").status_code == 401
        assert (
            httpx.get(f"{address}/state", headers={"X-Studio-Token": "é".encode()}).status_code
            == 401
        )
        assert httpx.get(f"{address}/state", headers={"X-Studio-Token": token}).status_code == 200
        assert httpx.get(f"{address}/images/i1/picture?token={token}").status_code == 200
        answer = httpx.post(f"{address}/images?token={token}", content=colored_png())
        assert answer.status_code == 201
        # The page itself holds nothing.
        assert httpx.get(f"{running.address}/").status_code != 401
    finally:
        running.stop()


def test_only_this_machine_by_default():
    assert StudioConfig().is_local and StudioConfig(host="::1").is_local
    assert not StudioConfig(host="0.0.0.0").is_local


@pytest.fixture
def secret(studio_server):
    path = studio_server.folder.parent / "secret.png"
    path.write_bytes(colored_png(33, 33) + b"the-secret")
    yield path
    path.unlink()


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.png",
        "/..%2fsecret.png",
        "/%2e%2e/secret.png",
        "/..%5csecret.png",
        "//etc/passwd",
        "/page/../../app.py",
        "/..%2f..%2fapp.py",
        "/api/v1/images/..%2fsecret.png/picture",
        "/api/v1/images/../secret.png/picture",
        "/api/v1/images/%2e%2e%2fsecret.png/picture",
        "/api/v1/jobs/..%2f..%2fsecret/pictures/x",
        "/__main__.py",
    ],
)
def test_traversal(studio_server, secret, path):
    # Raw, as clients tidy paths up.
    host = f"127.0.0.1:{_port(studio_server)}"
    with socket.create_connection(("127.0.0.1", int(_port(studio_server))), 10) as connection:
        connection.sendall(
            f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
        )
        content = b""
        while part := connection.recv(65536):
            content += part
    assert content.split(b" ")[1] in (b"400", b"404")
    assert b"the-secret" not in content and b"root:" not in content and b"import " not in content


def test_links_that_lead_out(tmp_path):
    outside = tmp_path / "outside.png"
    PIL.Image.new("RGB", (20, 20), (1, 2, 3)).save(outside)
    folder = tmp_path / "folder"
    (folder / "sub").mkdir(parents=True)
    PIL.Image.new("RGB", (30, 20)).save(folder / "sub" / "inside.png")
    (folder / "out.png").symlink_to(outside)
    (folder / "in.png").symlink_to(folder / "sub" / "inside.png")
    library = Library([folder])
    entries = {entry.name: entry for entry in library.all()}
    assert (
        "link out of it" in entries["out.png"].error
        and str(tmp_path) not in entries["out.png"].error
    )
    assert library.read(entries["in.png"].id).original_size == (20, 30)
    with pytest.raises(Refusal, match="link out"):
        library.read(entries["out.png"].id)


def test_a_folder_of_links_below(tmp_path):
    (tmp_path / "other").mkdir()
    PIL.Image.new("RGB", (20, 20)).save(tmp_path / "other" / "x.png")
    folder = tmp_path / "folder"
    folder.mkdir()
    PIL.Image.new("RGB", (20, 20)).save(folder / "a.png")
    (folder / "linked").symlink_to(tmp_path / "other")
    library = Library([folder], recursive=True)
    assert {entry.name: entry.error is None for entry in library.all()} == {
        "a.png": True,
        "linked/x.png": False,
    }


def test_a_file_that_becomes_a_link_later(tmp_path):
    outside = tmp_path / "outside.png"
    PIL.Image.new("RGB", (20, 20)).save(outside)
    folder = tmp_path / "folder"
    folder.mkdir()
    PIL.Image.new("RGB", (20, 20)).save(folder / "a.png")
    library = Library([folder])
    os.remove(folder / "a.png")
    (folder / "a.png").symlink_to(outside)
    with pytest.raises(Refusal, match="was there at the start"):
        library.read("i1")


def test_a_file_that_changes(tmp_path):
    PIL.Image.new("RGB", (20, 20), (255, 0, 0)).save(tmp_path / "a.png")
    PIL.Image.new("RGB", (20, 20)).save(tmp_path / "b.png")
    library = Library([tmp_path])
    assert library.read("i1").pixels[0, 0].tolist() == [255, 0, 0]
    PIL.Image.new("RGB", (20, 20), (0, 255, 0)).save(tmp_path / "new.png")
    os.replace(tmp_path / "new.png", tmp_path / "a.png")
    os.utime(tmp_path / "a.png", ns=(1, 1))
    assert library.read("i1").pixels[0, 0].tolist() == [0, 255, 0]
    PIL.Image.new("RGB", (33, 20)).save(tmp_path / "a.png")
    with pytest.raises(Refusal, match="20 x 20"):
        library.read("i1")


def test_an_unforeseen_failure_keeps_its_traceback(studio_server, monkeypatch, capsys):
    def fail(*_):
        raise RuntimeError("inner secret")

    monkeypatch.setattr(studio_server.studio.library, "all", fail)
    answer = Api(studio_server.address).get("/state")
    assert answer.status_code == 500
    assert "inner secret" not in answer.text and "terminal" in answer.json()["error"]
    error = capsys.readouterr().err
    assert "inner secret" in error and error.count("Traceback (most recent call last)") == 1
