"""The agent's own signature over a request (docs/wire.md, Attest)."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable
from typing import TypeAlias, cast

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from ._json import JsonObject, canonical_bytes, canonical_hash
from ._transport import encode
from ._wire import AttestRequest

AgentKey: TypeAlias = "str | bytes | Callable[[bytes], bytes]"
"""PKCS #8 PEM, base64 of the 32-byte seed, the seed itself, or a function that signs, for keys that are kept elsewhere."""


def signed_request(body: JsonObject) -> JsonObject:
    """The body without nulls and ``agent_signature``, ``human_authorization`` by its hash: what the agent signs."""
    request: JsonObject = {}
    for name, value in body.items():
        if value is None or name == "agent_signature":
            continue
        if name == "human_authorization":
            request["human_authorization_hash"] = canonical_hash(value)
        else:
            request[name] = value
    return request


def sign_agent_request(request: AttestRequest, key: AgentKey) -> AttestRequest:
    """The request with ``agent_signature``. Whatever is changed in it afterwards breaks the signature."""
    # Hashed as sent: JSON makes a list of a tuple.
    body = cast("JsonObject", json.loads(encode(request)))
    message = canonical_bytes(signed_request(body))
    signature = key(message) if callable(key) else read_agent_key(key).sign(message)
    return cast("AttestRequest", {**body, "agent_signature": base64.b64encode(signature).decode()})


def read_agent_key(key: str | bytes) -> Ed25519PrivateKey:
    """The text is secret, so no error shows any of it."""
    try:
        if isinstance(key, bytes):
            return Ed25519PrivateKey.from_private_bytes(key)
        if "-----" not in key:
            return Ed25519PrivateKey.from_private_bytes(base64.b64decode(key.strip(), validate=True))
        loaded = load_pem_private_key(key.encode(), None)
    except (ValueError, TypeError, binascii.Error):
        loaded = None
    if not isinstance(loaded, Ed25519PrivateKey):
        raise TypeError("agent key: neither a PEM Ed25519 private key nor base64 of its 32 bytes") from None
    return loaded
