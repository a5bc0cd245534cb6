"""Calls that are counted and watched, comparisons, and the loop over cases."""

from __future__ import annotations

import math
import random
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass

import numpy as np

import survgauge as sg

#: What an undefined metric gives here; the loops of `oracles` say it too.
UNDEFINED = "undefined"
#: Relative difference that rounding may make.
CLOSE = 1e-9


class MismatchError(AssertionError):
    """A number, an error or a warning that should not be."""


@dataclass(frozen=True)
class Failure:
    """What went wrong, and how to see it again."""

    kind: str
    seed: int
    number: int
    message: str
    call: str
    case: str

    def __str__(self):
        again = f"make fuzz SEED={self.seed} KIND={self.kind} CASE={self.number}"
        return f"{self.kind}: {self.message}\n  again: {again}\n  last call: {self.call}{self.case}"


class Caller:
    """Call public functions, count them, and let nothing but the promised errors through."""

    def __init__(self):
        self.counts = Counter()
        self.undefined = 0
        self.last = ""
        self.words = {}

    def name(self, obj, text):
        """Remember how an argument is written."""
        self.words[id(obj)] = (obj, text)
        return obj

    def __call__(self, function, *args, **options):
        """Result of a valid call, or UNDEFINED."""
        name = getattr(function, "__name__", str(function))
        self.counts[name] += 1
        self.last = (name, args, options)
        try:
            return function(*args, **options)
        except sg.UndefinedMetricError:
            self.undefined += 1
            return UNDEFINED
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{where.filename.rsplit('/', 1)[-1]}:{where.lineno}"
            raise MismatchError(
                f"{name} raised {type(error).__name__}: {error} ({place})"
            ) from error

    def refused(self, argument, function, *args, **options):
        """An invalid call: an InputError that names the argument."""
        name = getattr(function, "__name__", str(function))
        self.counts[f"refused {name}"] += 1
        self.last = (name, args, options)
        try:
            found = function(*args, **options)
        except sg.InputError as error:
            names = (argument,) if isinstance(argument, str) else argument
            if not any(word in str(error) for word in names):
                raise MismatchError(f"{name}: the error names none of {names}: {error}") from error
            return
        except Exception as error:
            text = f"{name} raised {type(error).__name__} instead of InputError: {error}"
            raise MismatchError(text) from error
        raise MismatchError(f"{name} took a wrong {argument}: {found!r:.200}")

    def text(self):
        """The last call as Python."""
        if not self.last:
            return "none"
        name, args, options = self.last
        parts = [self.show(a) for a in args]
        parts += [f"{key}={self.show(value)}" for key, value in options.items()]
        return f"sg.{name}({', '.join(parts)})"

    def show(self, obj):
        """An argument as Python."""
        if id(obj) in self.words:
            return self.words[id(obj)][1]
        if isinstance(obj, sg.Outcomes):
            parts = [obj.time.tolist(), obj.event.astype(int).tolist()]
            if obj.frequency is not None:
                parts.append(obj.weight.tolist())
            return f"sg.Outcomes({', '.join(map(str, parts))})"
        if isinstance(obj, sg.SurvivalCurves):
            grid = obj.times.tolist()
            survival = obj.survival.tolist()
            return f"sg.SurvivalCurves({grid}, {survival}, {obj.interpolation!r}, {obj.tail!r})"
        if isinstance(obj, sg.RiskScores):
            return f"sg.RiskScores({obj.values.tolist()})"
        if isinstance(obj, dict):
            return "{" + ", ".join(f"{k!r}: {self.show(v)}" for k, v in obj.items()) + "}"
        if isinstance(obj, tuple):
            return f"({', '.join(map(self.show, obj))}{',' if len(obj) == 1 else ''})"
        if isinstance(obj, np.ndarray):
            return f"np.array({obj.tolist()}, dtype={str(obj.dtype)!r})"
        return repr(obj)


def close(found, expected, rel=CLOSE, size=0.0):
    """Whether two numbers (or lists of numbers) are equal but for rounding.

    `size` is how large the numbers are that were added up: what cancels leaves its rounding.
    """
    if isinstance(expected, str) or isinstance(found, str):
        return found is UNDEFINED and expected is UNDEFINED
    a, b = np.asarray(found, dtype=float).ravel(), np.asarray(expected, dtype=float).ravel()
    if a.shape != b.shape:
        return False
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        if math.isnan(x) or math.isnan(y):
            if math.isnan(x) != math.isnan(y):
                return False
        elif x != y and not abs(x - y) <= rel * max(abs(x), abs(y), size) + 1e-300:
            return False
    return True


def same(what, found, expected, rel=CLOSE, size=0.0):
    """Demand equality but for rounding."""
    if not close(found, expected, rel, size):
        raise MismatchError(f"{what}: found {found!r:.300}, expected {expected!r:.300}")


def demand(what, truth):
    """Demand that something holds."""
    if not truth:
        raise MismatchError(what)


def stream_of(seed, kind, number):
    """Random numbers of one case."""
    return random.Random(f"{seed}/{kind}/{number}")


def run_case(kind, seed, number, call=None):
    """One case: None, or what went wrong (with the smallest case that still goes wrong)."""
    from .kinds import KINDS

    call = call or Caller()
    make, check = KINDS[kind]
    case = make(stream_of(seed, kind, number))
    error = _attempt(check, case, seed, kind, number, call)
    if error is None:
        return None
    shown = ""
    if hasattr(case, "smaller"):
        case = _shrunk(check, case, seed, kind, number)
        shown = f"\n  case: {case}"
    own = Caller()
    error = _attempt(check, case, seed, kind, number, own) or error
    return Failure(kind, seed, number, error, own.text(), shown)


def _attempt(check, case, seed, kind, number, call):
    """None, or a message."""
    call.last = ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check(case, stream_of(seed, f"{kind} check", number), call)
    except MismatchError as error:
        return str(error)
    except RecursionError:
        raise
    except Exception as error:  # in the check itself: a bug of the net, to be mended too
        trace = traceback.extract_tb(error.__traceback__)
        places = " < ".join(f"{f.filename.rsplit('/', 1)[-1]}:{f.lineno}" for f in trace[::-1][:4])
        return f"{type(error).__name__}: {error} ({places})"
    return None


def _shrunk(check, case, seed, kind, number):
    """Leave out subjects and extras while the check still fails."""
    for _ in range(200):
        for smaller in case.smaller():
            if _attempt(check, smaller, seed, kind, number, Caller()) is not None:
                case = smaller
                break
        else:
            return case
    return case
