"""Named random streams: what is drawn depends on the seed and the name, never on call order."""

from __future__ import annotations

import operator
from hashlib import sha256
from typing import Any

import numpy as np

from .errors import InputError


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
    digest = sha256()
    for name in names:
        if not isinstance(name, str):
            name = operator.index(name)
        # Length and type in front: ("a", "bc") and ("ab", "c"), or 1 and "1", must differ.
        text = f"{type(name).__name__}:{name}"
        digest.update(f"{len(text)}:{text}".encode())
    words = np.frombuffer(digest.digest(), dtype="<u4")
    sequence = np.random.SeedSequence(check_seed(seed, "seed"), spawn_key=tuple(map(int, words)))
    return np.random.Generator(np.random.PCG64(sequence))
