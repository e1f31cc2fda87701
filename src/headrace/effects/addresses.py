"""Where a webhook may go. A name is resolved once, and the connection goes to the very address that was checked."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# What the IANA IPv4 special-purpose registry does not call globally reachable, multicast, and an address of Azure's hosts.
_REFUSED_IPV4 = tuple(
    map(
        ipaddress.IPv4Network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "168.63.129.16/32",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
        ),
    )
)
_GLOBAL_IPV6 = ipaddress.IPv6Network("2000::/3")
# Of those: protocol assignments with Teredo in them, documentation twice, and 6to4. Tunnels lead wherever their address says.
_REFUSED_IPV6 = tuple(map(ipaddress.IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))
_IPV4_MAPPED = ipaddress.IPv6Network("::ffff:0:0/96")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


class NotPublic(OSError):
    """A name that leads to this machine or its network, where a webhook has no business unless the program says so."""


@dataclass(frozen=True, slots=True)
class Target:
    """An URL taken apart."""

    secure: bool
    host: str
    port: int
    path: str

    @staticmethod
    def of(url: str) -> Target:
        """ValueError says what is wrong, without the URL: it may hold a secret."""
        if any(not "!" <= c <= "~" for c in url):
            raise ValueError("it contains spaces, control characters or letters that must be encoded")
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https"):
            raise ValueError("it does not begin with https:// or http://")
        if not parts.hostname:
            raise ValueError("it names no host")
        if parts.username is not None or parts.password is not None:
            raise ValueError("it contains a user or a password; use headers={'Authorization': hr.secret(…)}")
        if parts.fragment:
            raise ValueError("it has a part after #, which is never sent")
        secure = parts.scheme == "https"
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return Target(secure, parts.hostname, parts.port or (443 if secure else 80), path)


def literal(host: str) -> Address | None:
    """The host as an address, if it is written as one."""
    try:
        return ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None


def public(address: Address) -> bool:
    """Whether it is reached through the internet, by the IANA registries, not by what this Python knows of them."""
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _REFUSED_IPV4)
    if address in _IPV4_MAPPED or address in _NAT64:
        return public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return address in _GLOBAL_IPV6 and not any(address in network for network in _REFUSED_IPV6)


def connect(host: str, port: int, *, private: bool, timeout: float) -> socket.socket:
    """A connection to the first address of the host that answers; only to public ones, unless `private`."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    allowed = [one for one in found if private or _public_text(str(one[4][0]))]
    if not allowed:
        shown = ", ".join(dict.fromkeys(str(one[4][0]) for one in found))
        raise NotPublic(f"{host} leads to a private address ({shown}), and private=True is not set")
    last: OSError | None = None
    for family, kind, protocol, _, address in allowed:
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(timeout)
            connection.connect(address)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection
        except OSError as e:
            connection.close()
            last = e
    raise last or OSError(f"{host} has no address")


def _public_text(text: str) -> bool:
    address = literal(text)
    return address is not None and public(address)
