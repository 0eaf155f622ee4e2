"""Certificate authorities that networked steps trust besides the usual ones: a company's proxy is signed by one.

They come from `ca_certificates` of the configuration and from SSL_CERT_FILE of the environment, both at once.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from pathlib import Path

from sweeper.config.plain import opened
from sweeper.errors import ConfigError

INSIDE = "/etc/sweeper-ca.crt"
VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
             "GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO")  # fmt: skip
SYSTEM = (
    Path("/etc/ssl/certs/ca-certificates.crt"),
    Path("/etc/pki/tls/certs/ca-bundle.crt"),
    Path("/etc/ssl/ca-bundle.pem"),
    Path("/etc/ssl/cert.pem"),
)
BLOCK = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
PRIVATE = re.compile(rb"-----BEGIN [^\n-]*PRIVATE KEY")
SEQUENCE = b"\x30"  # what every certificate begins with
HINT = "correct `ca_certificates` in [sandbox], or SSL_CERT_FILE: a PEM file of certificates alone"


def extra(configured: Path | None, environ: Mapping[str, str]) -> bytes:
    """Every extra authority as PEM, b"" if there is none. Raises ConfigError for a file that is not of certificates."""
    given = environ.get("SSL_CERT_FILE")
    files = dict.fromkeys(path for path in (configured, Path(given) if given else None) if path is not None)
    return b"".join(_certificates(path) for path in files)


def bundle(configured: Path | None, environ: Mapping[str, str]) -> bytes:
    """The machine's authorities and the extra ones; b"" if the machine's own are all there is. Raises ConfigError."""
    system = next((path for path in SYSTEM if path.exists()), None)
    given = environ.get("SSL_CERT_FILE")
    if given and system is not None and Path(given).exists() and system.samefile(given):
        environ = {}
    more = extra(configured, environ)
    return (_read(system) if system is not None else b"") + more if more else b""


def _certificates(path: Path) -> bytes:
    """The certificates of a PEM file and nothing else that stands in it: sandboxes read the result."""
    data = _read(path)
    if PRIVATE.search(data):
        raise ConfigError(f"{path} holds a private key, and sandboxes would read it", hint=HINT)
    found = []
    for block in BLOCK.findall(data):
        try:
            der = ssl.PEM_cert_to_DER_cert(block.decode("ascii"))
        except ValueError:
            der = b""
        if not der.startswith(SEQUENCE):
            raise ConfigError(f"{path} holds a certificate that cannot be decoded", hint=HINT)
        found.append(ssl.DER_cert_to_PEM_cert(der))
    if not found:
        raise ConfigError(f"{path} holds no certificate (-----BEGIN CERTIFICATE-----)", hint=HINT)
    return "".join(found).encode("ascii")


def _read(path: Path) -> bytes:
    try:
        with opened(path) as file:
            return file.read().rstrip(b"\n") + b"\n"
    except OSError as problem:
        raise ConfigError(
            f"the certificate bundle {path} cannot be read: {problem.strerror}",
            hint=HINT,
        ) from problem
