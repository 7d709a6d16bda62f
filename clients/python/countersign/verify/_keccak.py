"""Keccak-256 as Ethereum has it (not SHA-3: the padding differs), for the signal of World ID's proofs."""

from __future__ import annotations

_MASK = 2**64 - 1
_RATE = 136
_OFFSETS = [0, 1, 62, 28, 27, 36, 44, 6, 55, 20, 3, 10, 43, 25, 39, 41, 45, 15, 21, 8, 18, 2, 61, 56, 14]


def _round_constants() -> list[int]:
    constants: list[int] = []
    register = 1
    for _ in range(24):
        constant = 0
        for j in range(7):
            constant |= (register & 1) << (2**j - 1)
            register = (register << 1) ^ (0x171 if register & 0x80 else 0)
        constants.append(constant)
    return constants


_CONSTANTS = _round_constants()


def _rotate(value: int, by: int) -> int:
    return (value << by | value >> (64 - by)) & _MASK if by else value


def _permute(lanes: list[int]) -> list[int]:
    """Lane (x, y) is at x + 5y."""
    for constant in _CONSTANTS:
        columns = [lanes[x] ^ lanes[x + 5] ^ lanes[x + 10] ^ lanes[x + 15] ^ lanes[x + 20] for x in range(5)]
        parity = [columns[x - 1] ^ _rotate(columns[(x + 1) % 5], 1) for x in range(5)]
        moved = [0] * 25
        for at in range(25):
            x, y = at % 5, at // 5
            moved[y + 5 * ((2 * x + 3 * y) % 5)] = _rotate(lanes[at] ^ parity[x], _OFFSETS[at])
        lanes = [
            moved[at] ^ (~moved[at - at % 5 + (at + 1) % 5] & moved[at - at % 5 + (at + 2) % 5]) for at in range(25)
        ]
        lanes[0] ^= constant
    return lanes


def keccak_256(data: bytes) -> bytes:
    padded = bytearray(data + b"\1" + b"\0" * (-(len(data) + 1) % _RATE))
    padded[-1] |= 0x80
    lanes = [0] * 25
    for start in range(0, len(padded), _RATE):
        for at in range(_RATE // 8):
            lanes[at] ^= int.from_bytes(padded[start + 8 * at : start + 8 * at + 8], "little")
        lanes = _permute(lanes)
    return b"".join(lane.to_bytes(8, "little") for lane in lanes[:4])


def hash_to_field(data: bytes) -> int:
    """Without its last byte, so that it is below the field's order."""
    return int.from_bytes(keccak_256(data), "big") >> 8
