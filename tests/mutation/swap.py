"""Give a module that is already imported the code of a mutant."""

from __future__ import annotations

import gc
import sys
import types

import numpy as np

#: Values that modules import from each other by name.
SIMPLE = (int, float, str, tuple, frozenset, type(None))


def apply(module, path, tree, inside):
    """Replace the code of all functions of the module, and what its own statements set."""
    code = compile(tree, str(path), "exec")
    new = {}
    _gather(code, new)
    for function in _functions(path):
        place = (function.__code__.co_qualname, function.__code__.co_firstlineno)
        if place in new:
            function.__code__ = new[place]
    if not inside:
        _statements(module, code)


def _gather(code, found):
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found[constant.co_qualname, constant.co_firstlineno] = constant
            _gather(constant, found)


def _functions(path):
    """Every function of the file that lives, whatever holds it."""
    objects = [x for x in gc.get_objects() if isinstance(x, types.FunctionType)]
    return [f for f in objects if f.__code__.co_filename == str(path)]


def _statements(name, code):
    """Run the module's statements again, and take over constants and defaults."""
    module = sys.modules[name]
    again = types.ModuleType(name)
    again.__file__, again.__package__ = module.__file__, module.__package__
    exec(code, again.__dict__)
    for key, value in vars(again).items():
        old = vars(module).get(key)
        if key.startswith("__") or old is None:
            continue
        if isinstance(value, types.FunctionType) and isinstance(old, types.FunctionType):
            old.__defaults__, old.__kwdefaults__ = value.__defaults__, value.__kwdefaults__
        elif isinstance(value, type) and value.__module__ == name:
            _class(old, value)
        elif isinstance(value, dict) and isinstance(old, dict):
            old.clear()
            old.update(value)
        elif (isinstance(value, SIMPLE) and value != old) or (
            isinstance(value, np.ndarray) and not np.array_equal(value, old)
        ):
            _everywhere(key, old, value)


def _class(old, new):
    """Defaults of methods (those of a dataclass too) and plain attributes."""
    for key, value in vars(new).items():
        known = vars(old).get(key)
        if isinstance(value, types.FunctionType) and isinstance(known, types.FunctionType):
            known.__defaults__, known.__kwdefaults__ = value.__defaults__, value.__kwdefaults__
        elif not key.startswith("__") and isinstance(value, SIMPLE) and value != known:
            setattr(old, key, value)


def _everywhere(key, old, value):
    """Wherever the constant was imported to, under its own name."""
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "survgauge" and vars(module).get(key) is old:
            setattr(module, key, value)
