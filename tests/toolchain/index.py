"""A package index of one package, served over TLS by an authority that nobody knows."""

from __future__ import annotations

import http.server
import io
import ssl
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PACKAGE = "sweeper_probe_package"
WHEEL = f"{PACKAGE}-1.0-py3-none-any.whl"


def authority(folder: Path, address: str) -> Path:
    """A new authority in `folder`, and a server's certificate for an IP address by it; the authority's PEM file."""
    ca, key, request, signed = (folder / name for name in ("ca.pem", "key.pem", "request.pem", "signed.pem"))
    extensions = folder / "extensions"
    extensions.write_text(f"subjectAltName=IP:{address}\n")
    new: list[str | Path] = ["openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj"]
    sign: list[str | Path] = [
        "-CA",
        ca,
        "-CAkey",
        folder / "ca-key.pem",
        "-CAcreateserial",
        "-days",
        "2",
        "-extfile",
        extensions,
    ]
    commands: tuple[list[str | Path], ...] = (
        [*new, "/CN=sweeper test authority", "-x509", "-days", "2", "-keyout", folder / "ca-key.pem", "-out", ca],
        [*new, "/CN=index", "-keyout", key, "-out", request],
        ["openssl", "x509", "-req", "-in", request, *sign, "-out", signed],
    )
    for command in commands:
        subprocess.run(command, check=True, capture_output=True)
    ca.chmod(0o644)
    return ca


@contextmanager
def served(folder: Path, address: str) -> Iterator[str]:
    """The index's URL while it is served."""
    files = {"/": b"ok", f"/simple/{PACKAGE.replace('_', '-')}/": f'<a href="/{WHEEL}">{WHEEL}</a>'.encode()}
    files[f"/{WHEEL}"] = wheel()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = files.get(self.path)
            self.send_response(200 if data else 404)
            self.send_header("Content-Type", "text/html" if self.path.endswith("/") else "application/octet-stream")
            self.send_header("Content-Length", str(len(data or b"")))
            self.end_headers()
            self.wfile.write(data or b"")

        def log_message(self, *words: object) -> None:
            return

    server = http.server.ThreadingHTTPServer((address, 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "signed.pem", folder / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"https://{address}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def wheel() -> bytes:
    buffer = io.BytesIO()
    info = f"{PACKAGE}-1.0.dist-info"
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"{PACKAGE}.py", "ANSWER = 42\n")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", f"{PACKAGE}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return buffer.getvalue()
