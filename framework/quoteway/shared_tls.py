"""TLS to the servers that replicas share. Imported where a URL asks for it."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from typing import Any

from valkey.asyncio.connection import SSLConnection, ValkeySSLContext


class TlsFiles(ValkeySSLContext):
    """One context for all connections to a server.

    To read the certificates of a machine takes 20 ms and more, in which an event loop does nothing else. The
    context is made anew when a file has changed, so that certificates are replaced without a restart. While
    the new files cannot be used, connections go on with the old ones.
    """

    __slots__ = ("_changed_ns", "_files")

    def __init__(self, files: Mapping[str, str]) -> None:
        super().__init__(cert_reqs="required", check_hostname=True)
        self._files = dict(files)
        self._changed_ns: tuple[int, ...] = ()

    def get(self) -> ssl.SSLContext:
        """Returns the context. Raises ``OSError`` (``ssl.SSLError``) or ``ValueError`` for unusable files."""
        try:
            changed_ns = tuple(os.stat(path).st_mtime_ns for path in self._files.values())
            if self.context is None or changed_ns != self._changed_ns:
                self.context = self._read()
                self._changed_ns = changed_ns
        except (OSError, ValueError):
            if self.context is None:
                raise
        return self.context

    def _read(self) -> ssl.SSLContext:
        # With an authority of its own, those of the machine are not believed.
        context = ssl.create_default_context(cafile=self._files.get("ssl_ca_certs"))
        if "ssl_certfile" in self._files:
            context.load_cert_chain(self._files["ssl_certfile"], self._files.get("ssl_keyfile"))
        return context


class TlsConnection(SSLConnection):
    """A connection with the context of its server."""

    def __init__(self, *, tls_files: TlsFiles, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.ssl_context = tls_files
