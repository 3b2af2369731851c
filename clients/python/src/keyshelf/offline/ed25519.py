"""Verifies signatures of Ed25519 (RFC 8032) in Python alone. It holds no secrets, so its time need not be constant.

It takes what Web Crypto takes: canonical forms only, no key and no R of small order, and the equation without the
cofactor. The vectors in `clients/vectors/ed25519.json` say the same.
"""

from __future__ import annotations

import hashlib

_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, _P - 2, _P) % _P
_SQRT_MINUS_1 = pow(2, (_P - 1) // 4, _P)

#: A point in extended coordinates: x = X/Z, y = Y/Z, and T = XY/Z.
_Point = tuple[int, int, int, int]

_NEUTRAL: _Point = (0, 1, 1, 0)


def _add(a: _Point, b: _Point) -> _Point:
    # RFC 8032, section 5.1.4.
    e, f = (a[1] - a[0]) * (b[1] - b[0]) % _P, (a[1] + a[0]) * (b[1] + b[0]) % _P
    g, h = 2 * a[3] * b[3] * _D % _P, 2 * a[2] * b[2] % _P
    w, x, y, z = f - e, h - g, h + g, f + e
    return (w * x % _P, y * z % _P, x * y % _P, w * z % _P)


def _double(a: _Point) -> _Point:
    xx, yy = a[0] * a[0] % _P, a[1] * a[1] % _P
    h = xx + yy
    e = h - (a[0] + a[1]) ** 2
    g = xx - yy
    f = 2 * a[2] * a[2] + g
    return (e * f % _P, g * h % _P, f * g % _P, e * h % _P)


def _point_of(data: bytes) -> _Point | None:
    """The point of 32 bytes, `None` if they are not the canonical form of a point."""
    number = int.from_bytes(data, "little")
    sign, y = number >> 255, number & ((1 << 255) - 1)
    if y >= _P:
        return None
    square = (y * y - 1) * pow(_D * y * y + 1, _P - 2, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P != 0:
        x = x * _SQRT_MINUS_1 % _P
    if (x * x - square) % _P != 0 or (x == 0 and sign == 1):
        return None
    if x & 1 != sign:
        x = _P - x
    return (x, y, 1, x * y % _P)


def _bytes_of(point: _Point) -> bytes:
    inverse = pow(point[2], _P - 2, _P)
    x, y = point[0] * inverse % _P, point[1] * inverse % _P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _has_small_order(point: _Point) -> bool:
    eighth = _double(_double(_double(point)))
    return eighth[0] == 0 and (eighth[1] - eighth[2]) % _P == 0


def _base_point() -> _Point:
    y = 4 * pow(5, _P - 2, _P) % _P
    point = _point_of(y.to_bytes(32, "little"))
    assert point is not None
    return point


_BASE = _base_point()


def _sum_of_products(s: int, h: int, point: _Point) -> _Point:
    """s * base + h * point, both multiplied in one pass over their bits."""
    both = _add(_BASE, point)
    choices = (None, _BASE, point, both)
    total = _NEUTRAL
    for bit in range(max(s.bit_length(), h.bit_length()) - 1, -1, -1):
        total = _double(total)
        choice = choices[(s >> bit & 1) | (h >> bit & 1) << 1]
        if choice is not None:
            total = _add(total, choice)
    return total


def verify(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether a signature of 64 bytes is the key's for a message."""
    if len(public_key) != 32 or len(signature) != 64:
        return False
    key, r = _point_of(public_key), _point_of(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if key is None or r is None or s >= _ORDER or _has_small_order(key) or _has_small_order(r):
        return False
    digest = hashlib.sha512(signature[:32] + public_key + message).digest()
    h = int.from_bytes(digest, "little") % _ORDER
    minus_key = (_P - key[0], key[1], key[2], _P - key[3])
    return _bytes_of(_sum_of_products(s, h, minus_key)) == signature[:32]
