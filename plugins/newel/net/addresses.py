"""Addresses: which of them belong to the public internet."""

from __future__ import annotations

import ipaddress
from ipaddress import IPv4Address, IPv6Address
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address

#: Refused although Python, or some version of it, counts them as public.
_NEVER = tuple(
    map(
        ipaddress.ip_network,
        (
            "100.64.0.0/10",  # shared by carriers; holds the metadata service of a cloud
            "168.63.129.16/32",  # the platform service of a cloud
            "192.0.0.0/24",  # protocol assignments; holds the metadata service of a cloud
            "192.88.99.0/24",
            "64:ff9b:1::/48",
            "fec0::/10",
        ),
    )
)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_COMPATIBLE = ipaddress.IPv6Network("::/96")


def is_public(address: Address) -> bool:
    """Whether `address`, and any IPv4 address in it, belongs to the public internet."""
    inner = _inner(address)
    if inner is not None:
        return is_public(inner)
    never = any(address.version == network.version and address in network for network in _NEVER)
    return address.is_global and not (never or address.is_multicast or address.is_reserved)


def _inner(address: Address) -> IPv4Address | None:
    """The IPv4 address inside an IPv6 address."""
    if isinstance(address, IPv4Address):
        return None
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in _NAT64 or address in _COMPATIBLE:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return None
