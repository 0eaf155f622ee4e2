"""Registries of one package each for Go, Rust and Ruby, in the forms that their package managers ask for."""

from __future__ import annotations

import base64
import gzip
import hashlib
import http.server
import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

MODULE = "example.com/greet"
CRATE = "probe"
GEM = "probe-lint"
CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"


@contextmanager
def served(files: dict[str, bytes], address: str) -> Iterator[tuple[str, list[str]]]:
    """The address while these files are served, and the paths that were asked for."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            data = files.get(self.path)
            self.send_response(200 if data is not None else 404)
            self.send_header("Content-Length", str(len(data or b"")))
            self.end_headers()
            self.wfile.write(data or b"")

        def log_message(self, *words: object) -> None:
            return

    server = http.server.ThreadingHTTPServer((address, 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{address}:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _module(version: str) -> tuple[bytes, bytes]:
    """go.mod and greet.go"""
    source = 'package greet\n\nimport "fmt"\n\n'
    source += f"// Version {version}\nfunc Logf(format string, args ...any) {{ fmt.Printf(format, args...) }}\n"
    return f"module {MODULE}\n\ngo 1.19\n".encode(), source.encode()


def go_proxy(*versions: str) -> dict[str, bytes]:
    """What a module proxy serves; `Logf` is a function that `go vet` judges the calls of, if it can see it."""
    files = {f"/{MODULE}/@v/list": "".join(f"{version}\n" for version in versions).encode()}
    for version in versions:
        manifest, source = _module(version)
        start = f"/{MODULE}/@v/{version}"
        files[f"{start}.info"] = json.dumps({"Version": version, "Time": "2024-01-01T00:00:00Z"}).encode()
        files[f"{start}.mod"] = manifest
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr(f"{MODULE}@{version}/go.mod", manifest)
            archive.writestr(f"{MODULE}@{version}/greet.go", source)
        files[f"{start}.zip"] = buffer.getvalue()
    return files


def go_project(version: str) -> dict[str, bytes]:
    """A module that uses it, with the go.sum that goes with it."""
    manifest, source = _module(version)
    whole = _h1({f"{MODULE}@{version}/go.mod": manifest, f"{MODULE}@{version}/greet.go": source})
    sums = f"{MODULE} {version} {whole}\n{MODULE} {version}/go.mod {_h1({'go.mod': manifest})}\n"
    return {
        "go.mod": f"module example.com/app\n\ngo 1.19\n\nrequire {MODULE} {version}\n".encode(),
        "go.sum": sums.encode(),
        "main.go": f'package main\n\nimport "{MODULE}"\n\nfunc main() {{\n\tgreet.Logf("%d", "x")\n}}\n'.encode(),
    }


def _h1(files: Mapping[str, bytes]) -> str:
    lines = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items()))
    return "h1:" + base64.b64encode(hashlib.sha256(lines.encode()).digest()).decode()


def crate(version: str) -> bytes:
    manifest = f'[package]\nname = "{CRATE}"\nversion = "{version}"\nedition = "2021"\n'
    return _tar_gz(
        {
            f"{CRATE}-{version}/Cargo.toml": manifest.encode(),
            f"{CRATE}-{version}/src/lib.rs": b"pub fn answer() -> Option<u8> {\n    Some(42)\n}\n",
        }
    )


def cargo_index(base: str, *versions: str) -> dict[str, bytes]:
    """A sparse index and the crates, as they are served at `base`."""
    lines = [
        json.dumps(
            {
                "name": CRATE,
                "vers": version,
                "deps": [],
                "cksum": hashlib.sha256(crate(version)).hexdigest(),
                "features": {},
                "yanked": False,
            }
        )
        for version in versions
    ]
    return {
        "/config.json": json.dumps({"dl": f"{base}/crates/{{crate}}-{{version}}.crate"}).encode(),
        f"/{CRATE[:2]}/{CRATE[2:4]}/{CRATE}": "".join(f"{line}\n" for line in lines).encode(),
        **{f"/crates/{CRATE}-{version}.crate": crate(version) for version in versions},
    }


def cargo_project(base: str, version: str) -> dict[str, bytes]:
    """A package that uses it from crates.io, whose place the registry at `base` takes."""
    package = '[[package]]\nname = "{}"\nversion = "{}"\n'
    lock = "version = 3\n\n" + package.format("app", "0.1.0") + f'dependencies = [\n "{CRATE}",\n]\n\n'
    lock += package.format(CRATE, version) + f'source = "{CRATES_IO}"\n'
    lock += f'checksum = "{hashlib.sha256(crate(version)).hexdigest()}"\n'
    manifest = (
        f'[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\n{CRATE} = "{version}"\n'
    )
    config = f'[source.crates-io]\nreplace-with = "here"\n\n[source.here]\nregistry = "sparse+{base}/"\n'
    return {
        ".cargo/config.toml": config.encode(),
        "Cargo.toml": manifest.encode(),
        "Cargo.lock": lock.encode(),
        "src/lib.rs": f"pub fn one() -> u8 {{\n    return {CRATE}::answer().unwrap_or(1);\n}}\n".encode(),
    }


def gem(version: str) -> bytes:
    """A gem with a program that calls every line too long that has more than ten characters."""
    program = (
        "#!/usr/bin/env ruby\nARGV.each { |path| File.foreach(path).with_index(1) { |line, number| "
        f'puts "#{{path}}:#{{number}}:1: line too long for {version}" if line.size > 10 }} }}\n'
    )
    specification = (
        "--- !ruby/object:Gem::Specification\n"
        f"name: {GEM}\nversion: !ruby/object:Gem::Version\n  version: {version}\n"
        "platform: ruby\nauthors:\n- nobody\nbindir: exe\ndate: 2024-01-01 00:00:00.000000000 Z\ndependencies: []\n"
        f"description: probe\nexecutables:\n- {GEM}\nfiles:\n- exe/{GEM}\nlicenses: []\nmetadata: {{}}\n"
        "require_paths:\n- lib\n"
        'required_ruby_version: !ruby/object:Gem::Requirement\n  requirements:\n  - - ">="\n'
        "    - !ruby/object:Gem::Version\n      version: '0'\n"
        'required_rubygems_version: !ruby/object:Gem::Requirement\n  requirements:\n  - - ">="\n'
        "    - !ruby/object:Gem::Version\n      version: '0'\n"
        "specification_version: 4\nsummary: probe\n"
    )
    return _tar(
        {
            "metadata.gz": gzip.compress(specification.encode(), mtime=0),
            "data.tar.gz": _tar_gz({f"exe/{GEM}": program.encode()}),
        }
    )


def gem_index(*versions: str) -> dict[str, bytes]:
    """The compact index and the gems."""
    info = "---\n" + "".join(f"{each} |checksum:{hashlib.sha256(gem(each)).hexdigest()}\n" for each in versions)
    listed = f"{GEM} {','.join(versions)} {hashlib.md5(info.encode(), usedforsecurity=False).hexdigest()}\n"
    return {
        "/versions": f"created_at: 2024-01-01T00:00:00Z\n---\n{listed}".encode(),
        f"/info/{GEM}": info.encode(),
        "/names": f"---\n{GEM}\n".encode(),
        **{f"/gems/{GEM}-{version}.gem": gem(version) for version in versions},
    }


def gem_project(base: str, version: str) -> dict[str, bytes]:
    lock = f"GEM\n  remote: {base}/\n  specs:\n    {GEM} ({version})\n\nPLATFORMS\n  ruby\n\nDEPENDENCIES\n  {GEM}\n"
    return {
        "Gemfile": f'source "{base}"\ngem "{GEM}"\n'.encode(),
        "Gemfile.lock": lock.encode(),
        "a.rb": b"puts 1\nputs 1234567890\n",
    }


def _tar(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), 0o755 if name.startswith("exe/") else 0o644
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def _tar_gz(files: Mapping[str, bytes]) -> bytes:
    return gzip.compress(_tar(files), mtime=0)
