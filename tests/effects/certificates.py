"""A certificate authority of our own, made with the openssl command."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path


class Certificates:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._run("req", "-x509", *self._new("ca"), "-subj", "/CN=test authority", "-days", "2")

    def server(self, name: str) -> ssl.SSLContext:
        """A server that calls itself so."""
        extensions = self._folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName=DNS:{name}\n")
        self._run("req", *self._new(name, out="csr"), "-subj", f"/CN={name}")
        authority = "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2"
        self._run("x509", "-req", "-in", f"{name}.csr", *authority, "-extfile", extensions.name, "-out", f"{name}.pem")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        return context

    def client(self) -> ssl.SSLContext:
        """One that trusts this authority, and nobody else."""
        return ssl.create_default_context(cafile=str(self._folder / "ca.pem"))

    def _new(self, name: str, out: str = "pem") -> tuple[str, ...]:
        return "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.{out}"

    def _run(self, *words: str) -> None:
        subprocess.run(["openssl", *words], cwd=self._folder, check=True, capture_output=True)
