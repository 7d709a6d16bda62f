"""The relying party of an address, as browsers derive it (WHATWG URL): what a passkey's client data and hash name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv6Address
from urllib.parse import unquote

_DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f#/<>?@\[\\\]^|%:]")


@dataclass(frozen=True)
class RelyingParty:
    origin: str
    """No path, no standard port; ``null`` for schemes that have no origin."""
    rp_id: str


def is_loopback(host: str) -> bool:
    return re.fullmatch(r"localhost|.+\.localhost|127(\.[0-9]{1,3}){3}|\[::1\]", host) is not None


def parse_relying_party(address: str) -> RelyingParty | None:
    """None for what is no absolute address."""
    text = re.sub(r"[\t\n\r]", "", address.strip("".join(map(chr, range(33)))))
    found = re.fullmatch(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", text, re.DOTALL)
    if found is None:
        return None
    scheme, rest = found[1].lower(), found[2]
    if scheme not in _DEFAULT_PORTS:
        named = re.match(r"//(?:[^/?#]*@)?([^/?#:]*)", rest)
        return RelyingParty("null", named[1] if named else "")
    authority = re.split(r"[/\\?#]", rest.lstrip("/\\"), maxsplit=1)[0]
    split = re.fullmatch(r"(?:.*@)?(\[[^\]]*\]|[^:]*)(?::([0-9]*))?", authority, re.DOTALL)
    if split is None or int(split[2] or 0) > 65_535:
        return None
    host = _parse_host(split[1])
    port = int(split[2]) if split[2] else _DEFAULT_PORTS[scheme]
    shown = "" if port == _DEFAULT_PORTS[scheme] else f":{port}"
    return None if host is None else RelyingParty(f"{scheme}://{host}{shown}", host)


def _parse_ipv6(written: str) -> str | None:
    """The loopback address has one spelling here; others are compared as they are written."""
    try:
        is_own = IPv6Address(written[1:-1]).packed == IPv6Address("::1").packed
    except ValueError:
        return None
    return None if "%" in written else "[::1]" if is_own else written.lower()


def _parse_host(written: str) -> str | None:
    if written.startswith("["):
        return _parse_ipv6(written)
    host = unquote(written).lower()
    if not host.isascii():
        try:
            host = host.encode("idna").decode()
        except UnicodeError:
            return None
    is_number = re.fullmatch(r"[0-9]+|0x[0-9a-f]*", host.rstrip(".").rpartition(".")[2]) is not None
    is_address = re.fullmatch(r"([0-9]{1,3}\.){3}[0-9]{1,3}", host) and all(int(part) < 256 for part in host.split("."))
    return None if host == "" or _FORBIDDEN.search(host) or (is_number and not is_address) else host
