"""Which addresses are on the public internet: for requests to hosts that a stranger chooses."""

from __future__ import annotations

import ipaddress
from ipaddress import IPv4Address, IPv6Address

_NOT_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        (
            "::/96",  # IPv4-compatible (RFC 4291, 2.5.5.1), which some systems route as IPv4
            "64:ff9b::/96",  # NAT64 (RFC 6052): leads to any IPv4 address
            "64:ff9b:1::/48",  # NAT64 of a network's own (RFC 8215)
            "fec0::/10",  # site-local (RFC 3879)
        ),
    )
)


def is_public_address(address: IPv4Address | IPv6Address) -> bool:
    """Returns whether an address is on the public internet, for IPv6 also by the IPv4 address within it.

    Loopback, private, shared (CGNAT), link-local, multicast, unspecified and reserved addresses are not, nor
    those of 6to4, Teredo and NAT64, which lead to IPv4 addresses.
    """
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public_address(address.ipv4_mapped)
        if address.sixtofour is not None or address.teredo is not None:
            return False
    if any(address in network for network in _NOT_PUBLIC if network.version == address.version):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved
