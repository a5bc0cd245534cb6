"""Named random streams: what is drawn depends on the seed and the name, never on call order."""

from __future__ import annotations

import operator
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError


def check_seed(random_state: Any, argument: str = "random_state") -> int:
    """Return a seed as an integer; None draws one from the system, to be kept with the result.

    >>> check_seed(np.int64(7))
    7
    """
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    try:
        seed = operator.index(random_state)
    except TypeError:
        seed = -1
    if seed < 0 or isinstance(random_state, bool | np.bool_):
        raise InputError(
            f"{argument} must be a whole number, 0 or more, or None; got {random_state!r}. "
            "Generators are refused because their draws depend on what was drawn before"
        )
    return seed


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """Random stream that belongs to a seed and a path of names.

    Two streams are independent as soon as the seed or one name differs, whatever was drawn
    before and in whatever order streams are asked for. Nor do they repeat what
    ``np.random.default_rng(seed)`` gives, with which a caller may have made features.

    Parameters
    ----------
    seed : int
        Not negative.
    names : str or int
        What the numbers are for, for instance ``("censoring", "uniform")``.

    Examples
    --------
    >>> float(stream(0, "folds").random()) == float(stream(0, "folds").random())
    True
    >>> float(stream(0, "folds").random()) == float(stream(0, "models").random())
    False
    """
    words = np.frombuffer(_digest(names), dtype="<u4")
    sequence = np.random.SeedSequence(check_seed(seed, "seed"), spawn_key=tuple(map(int, words)))
    return np.random.Generator(np.random.PCG64(sequence))


def counter_words(
    n: int, start: int, seed: int, *names: str | int, replicate: int = 0
) -> NDArray[np.uint64]:
    """Uniform 64-bit words number `start` to `start + n` of an endless named sequence.

    Any part of the sequence can be had without what comes before it: Philox makes four words from
    each value of a counter.

    Examples
    --------
    >>> whole = counter_words(9, 0, 7, "draws")
    >>> bool((counter_words(4, 5, 7, "draws") == whole[5:]).all())
    True
    """
    key = sha256(_digest(names) + str(check_seed(seed, "seed")).encode()).digest()
    words = np.array([np.frombuffer(key[:8], dtype="<u8")[0], replicate], dtype=np.uint64)
    generator = np.random.Philox(key=words, counter=start // 4)
    skipped = start % 4
    raw: NDArray[np.uint64] = generator.random_raw(n + skipped)
    return raw[skipped:]


def _digest(names: tuple[str | int, ...]) -> bytes:
    digest = sha256()
    for name in names:
        if not isinstance(name, str):
            name = operator.index(name)
        # Length and type in front: ("a", "bc") and ("ab", "c"), or 1 and "1", must differ.
        text = f"{type(name).__name__}:{name}"
        digest.update(f"{len(text)}:{text}".encode())
    return digest.digest()
