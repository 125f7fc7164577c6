"""Many random streams in one array, for compiled code: NumPy's PCG64, bit by bit.

A generator of NumPy can be handed to compiled code, but not a thousand of them. What a PCG64 is
made of fits into four numbers of 64 bits: its state and its increment, 128 bits each. One step is
state ← state · multiplier + increment; the output mixes the halves of the new state. The draws are
those of ``Generator.random()``, to the bit. The arithmetic is that of compiled code, which wraps
around in silence; plain Python would warn of overflow.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from monmdp.compiling import compilable

Streams = NDArray[np.uint64]
"""[stream, 4] state and increment, the high half of each first"""

LOW = (1 << 64) - 1


def pack(generators: Iterable[np.random.Generator]) -> Streams:
    """Return the streams of some generators, which must be PCG64 as Gymnasium's are."""
    rows = []
    for generator in generators:
        assert isinstance(generator.bit_generator, np.random.PCG64)
        numbers = generator.bit_generator.state["state"]
        state, increment = numbers["state"], numbers["inc"]
        rows.append((state >> 64, state & LOW, increment >> 64, increment & LOW))
    return np.array(rows, dtype=np.uint64)


def unpack(stream: Streams) -> np.random.Generator:
    """Return a generator that goes on where a stream is."""
    state_high, state_low, increment_high, increment_low = map(int, stream)
    generator = np.random.Generator(np.random.PCG64(0))
    generator.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {
            "state": state_high << 64 | state_low,
            "inc": increment_high << 64 | increment_low,
        },
        "has_uint32": 0,
        "uinteger": 0,
    }
    return generator


@compilable
def high_product(x: np.uint64, y: np.uint64) -> np.uint64:
    """Return the upper half of the product of two numbers of 64 bits."""
    half, lower = np.uint64(32), np.uint64(0xFFFFFFFF)
    x0, x1, y0, y1 = x & lower, x >> half, y & lower, y >> half
    middle = x1 * y0 + ((x0 * y0) >> half)
    other = x0 * y1 + (middle & lower)
    return x1 * y1 + (middle >> half) + (other >> half)


@compilable
def uniform(streams: Streams, i: int) -> float:
    """Draw from [0, 1) and advance stream i."""
    high, low = streams[i, 0], streams[i, 1]
    factor_high, factor_low = np.uint64(0x2360ED051FC65DA4), np.uint64(0x4385DF649FCCF645)
    new_high = high_product(low, factor_low) + high * factor_low + low * factor_high
    new_low = low * factor_low
    total = new_low + streams[i, 3]
    carry = np.uint64(1) if total < new_low else np.uint64(0)
    new_high = new_high + streams[i, 2] + carry
    streams[i, 0], streams[i, 1] = new_high, total
    mixed, turn = new_high ^ total, new_high >> np.uint64(58)
    back = (np.uint64(64) - turn) & np.uint64(63)
    output = (mixed >> turn) | (mixed << back)
    return float(output >> np.uint64(11)) * 1.1102230246251565e-16  # 2⁻⁵³
