"""What of a file of certificate authorities reaches sandboxes."""

from __future__ import annotations

import os
import ssl
import stat
from pathlib import Path

import pytest

from sweeper.errors import ConfigError
from sweeper.sandbox import authorities
from sweeper.sandbox.store import Store, sandbox_ids

CERTIFICATE = ssl.DER_cert_to_PEM_cert(b"\x30\x03\x02\x01\x07" * 20)  # DER; what it certifies is nobody's question


def test_only_certificates_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.write_text(
        f"# password: hunter2\n{CERTIFICATE}token=do-not-read\r\n{CERTIFICATE}-----BEGIN X509 CRL-----\nAA==\n"
    )
    assert authorities.extra(file, {}).decode() == CERTIFICATE * 2
    file.write_bytes(CERTIFICATE.replace("\n", "\r\n").encode())
    assert authorities.extra(file, {}).decode() == CERTIFICATE


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no certificate"),
        ("[credentials]\naws_secret_access_key = x\n", "no certificate"),
        (f"{CERTIFICATE}-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n", "private key"),
        (f"-----BEGIN RSA PRIVATE KEY-----\nAA==\n{CERTIFICATE}", "private key"),
        (f"-----BEGIN OPENSSH PRIVATE KEY-----\nAA==\n{CERTIFICATE}", "private key"),
        (f"{CERTIFICATE}-----BEGIN CERTIFICATE-----\nA\n-----END CERTIFICATE-----\n", "cannot be decoded"),
        ("-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n", "cannot be decoded"),
        ("-----BEGIN CERTIFICATE-----\n\xe4\n-----END CERTIFICATE-----\n", "cannot be decoded"),
    ],
)
@pytest.mark.parametrize("configured", [True, False])
def test_a_file_that_is_not_of_certificates_is_refused(tmp_path: Path, text: str, why: str, configured: bool) -> None:
    file = tmp_path / "ca.pem"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=why) as caught:
        authorities.bundle(*((file, {}) if configured else (None, {"SSL_CERT_FILE": str(file)})))
    assert str(file) in str(caught.value)
    assert "ca_certificates" in caught.value.hint


def test_the_copy_is_for_the_sandboxes_user_alone(store: Path) -> None:
    kept = Store(store)
    file = kept.file(b"x", ".pem")
    file.chmod(0o644)  # as an earlier version left it
    state = kept.file(b"x", ".pem").stat()
    kept.close()
    assert state.st_mode & 0o007 == 0
    if os.geteuid() == 0:
        assert (stat.S_IMODE(state.st_mode), state.st_gid) == (0o640, sandbox_ids()[1])
