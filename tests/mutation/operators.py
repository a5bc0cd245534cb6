"""All mutants of a module: one small change of its syntax tree each."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass

ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
COMPARISON = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
#: Functions and words that have an opposite.
TWINS = {
    "minimum": "maximum",
    "maximum": "minimum",
    "min": "max",
    "max": "min",
    "zeros": "ones",
    "ones": "zeros",
    "all": "any",
    "any": "all",
    "flatnonzero": "atleast_1d",
    "left": "right",
    "right": "left",
}
#: Constants that say how much is worked on at once: they change speed and memory, never a number.
#: Names of this kind are left alone, as are annotations, docstrings and the words of messages.
SPEED = ("PIECE", "BLOCK", "CHUNK", "ROWS", "PART", "COLUMNS", "SPAN", "LIMIT")


@dataclass(frozen=True)
class Mutant:
    """Mutant `number` of a module: what was changed where."""

    module: str
    number: int
    line: int
    kind: str
    before: str
    after: str
    #: Last line of the statement, and whether it is inside a function: only then is it known
    #: which tests run it.
    end: int = 0
    inside: bool = True

    def __str__(self):
        lines = [f"{self.module} line {self.line}, mutant {self.number}: {self.kind}"]
        lines += [f"  - {text}" for text in self.before.splitlines()]
        lines += [f"  + {text}" for text in self.after.splitlines()]
        return "\n".join(lines)


def changes(tree):
    """Yield (statement, kind, change, undo) of every possible change, always in the same order."""
    for statement, node in _places(tree):
        yield from ((statement, *rest) for rest in _changes_of(node, statement))


def _places(tree):
    """(smallest statement around it, node) of every node that may be changed."""
    stack = [(None, child) for child in reversed(list(ast.iter_child_nodes(tree)))]
    while stack:
        statement, node = stack.pop()
        if isinstance(node, ast.stmt):
            statement = node
        if _untouched(node):
            continue
        yield statement, node
        stack += [(statement, child) for child in reversed(_children(node))]


def _untouched(node):
    """Docstrings, messages, imports, type aliases and constants that only set the pace."""
    if isinstance(node, ast.Import | ast.ImportFrom | ast.JoinedStr | ast.Global):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        name = node.targets[0].id
        return name == "__all__" or any(word in name for word in SPEED)
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _children(node):
    if isinstance(node, ast.FunctionDef):
        return [*node.args.defaults, *(d for d in node.args.kw_defaults if d), *node.body]
    if isinstance(node, ast.ClassDef):
        return node.body
    if isinstance(node, ast.AnnAssign):
        return [node.value] if node.value else []
    if isinstance(node, ast.Raise):
        return []
    if isinstance(node, ast.Call):
        # What a pace is set by, passed by position or name, is left alone with its constant.
        return [node.func, *node.args, *(k.value for k in node.keywords)]
    return list(ast.iter_child_nodes(node))


def _set(owner, field, new):
    old = getattr(owner, field)

    def change():
        setattr(owner, field, new)

    def undo():
        setattr(owner, field, old)

    return change, undo


def _item(items, place, new):
    old = items[place]

    def change():
        items[place] = new

    def undo():
        items[place] = old

    return change, undo


def _changes_of(node, statement):
    if isinstance(node, ast.BinOp | ast.AugAssign):
        other = ARITHMETIC.get(type(node.op))
        if other is not None and not _joins_words(node):
            yield ("operator", *_set(node, "op", other()))
    if isinstance(node, ast.Compare):
        for k, op in enumerate(node.ops):
            yield ("comparison", *_item(node.ops, k, COMPARISON[type(op)]()))
    if isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield ("and/or", *_set(node, "op", other))
    if isinstance(node, ast.UnaryOp):
        yield (
            "unary operator",
            *_set(node, "op", ast.UAdd() if isinstance(node.op, ast.USub) else _Nothing()),
        )
    if isinstance(node, ast.Constant):
        new = _other_constant(node.value)
        if new is not None:
            yield ("constant", *_set(node, "value", new))
    if isinstance(node, ast.Attribute) and node.attr in TWINS:
        yield ("twin", *_set(node, "attr", TWINS[node.attr]))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in TWINS:
        yield ("twin", *_set(node.func, "id", TWINS[node.func.id]))
    if isinstance(node, ast.Slice):
        for bound in ("lower", "upper", "step"):
            if getattr(node, bound) is not None:
                yield ("slice", *_set(node, bound, None))
    if isinstance(node, ast.Return) and getattr(node.value, "value", 0) is not None:
        yield ("return", *_set(node, "value", ast.Constant(None)))
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        yield ("condition", *_set(node, "test", ast.UnaryOp(ast.Not(), node.test)))
    for field in ("body", "orelse"):
        body = getattr(node, field, None)
        for k, child in enumerate(body if isinstance(body, list) else []):
            if isinstance(child, ast.Raise | ast.AugAssign) or _is_call(child):
                yield ("statement left out", *_item(getattr(node, field), k, ast.Pass()))


class _Nothing(ast.UAdd):
    """`not x` and `~x` become x."""


def _is_call(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


def _joins_words(node):
    """Whether + joins texts, or | joins types or dictionaries of words."""
    values = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
    return any(
        isinstance(v, ast.JoinedStr | ast.Dict)
        or (isinstance(v, ast.Constant) and isinstance(v.value, str))
        for v in values
    )


def _other_constant(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value + 1.0 if value == value and abs(value) < 1e300 else None
    if isinstance(value, str) and value in TWINS:
        return TWINS[value]
    return None


class _Cleaner(ast.NodeTransformer):
    """Write `not x` that lost its operator as x."""

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        return node.operand if isinstance(node.op, _Nothing) else node


def _text(node):
    shown = copy.deepcopy(node)
    for name in ("body", "orelse"):
        if isinstance(getattr(shown, name, None), list) and len(getattr(shown, name)) > 1:
            setattr(shown, name, getattr(shown, name)[:1])
    return ast.unparse(ast.fix_missing_locations(_Cleaner().visit(shown)))


def mutants_of(module, source):
    """All mutants of a module's source."""
    tree = ast.parse(source)
    within = _lines_of_functions(tree)
    found = []
    for number, (statement, kind, change, undo) in enumerate(changes(tree)):
        place = statement if statement is not None else tree
        if kind == "statement left out":
            before = ast.unparse(place) if not hasattr(place, "body") else _body(place)
            change()
            after = ast.unparse(place) if not hasattr(place, "body") else _body(place)
            undo()
        else:
            before = _text(place)
            change()
            after = _text(place)
            undo()
        before, after = _difference(before, after)
        line = getattr(place, "lineno", 0)
        end = getattr(place, "end_lineno", line)
        # The default of an argument is worked out where the function is defined.
        inside = line in within and not isinstance(place, ast.FunctionDef | ast.ClassDef)
        inside = inside or kind == "statement left out"
        found.append(Mutant(module, number, line, kind, before, after, end, inside))
    return found


def _lines_of_functions(tree):
    return {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        for line in range(node.lineno, node.end_lineno + 1)
    }


def _body(node):
    return ast.unparse(ast.fix_missing_locations(_Cleaner().visit(copy.deepcopy(node))))


def _difference(before, after):
    """The lines that differ."""
    a, b = before.splitlines(), after.splitlines()
    while a and b and a[0] == b[0]:
        a, b = a[1:], b[1:]
    while a and b and a[-1] == b[-1]:
        a, b = a[:-1], b[:-1]
    return "\n".join(a) or before, "\n".join(b) or after


def mutated(source, number):
    """Syntax tree of the module with change `number`."""
    tree = ast.parse(source)
    for k, (_, _, change, _) in enumerate(changes(tree)):
        if k == number:
            change()
            return ast.fix_missing_locations(_Cleaner().visit(tree))
    raise IndexError(number)
