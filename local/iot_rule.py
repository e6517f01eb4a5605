"""Evaluating the statement of an AWS IoT rule, as far as this project's own rule goes.

The emulator has a rules engine, but none of the functions, object literals and case statements
that the rule is made of. So its very statement, read from the synthesized template, is evaluated
here. The language: https://docs.aws.amazon.com/iot/latest/developerguide/iot-sql-reference.html.
Whatever else a statement may hold is refused.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable
from typing import Any

from local.assembly import Assembly
from local.waiting import now_ms

Event = dict[str, Any]
#: An expression: its value for an event.
Expression = Callable[[Event], Any]

_TOKEN = re.compile(
    r"\s*(?:(?P<string>'[^']*')|(?P<word>[A-Za-z_]\w*)|(?P<number>\d+)|(?P<sign>[(){}:,>+*/]))"
)


class UnknownStatement(RuntimeError):
    """The statement holds something that this module does not know."""


class _Undefined:
    """The value of what an event does not have."""


UNDEFINED = _Undefined()


class Rule:
    """An IoT rule: the topic it is on, and what it makes of an event."""

    def __init__(self, statement: str) -> None:
        self._tokens = _tokens(statement)
        self._next = 0
        self._columns = self._select()
        #: The filter of the topics it is on.
        self.topic = self._string()
        if self._peek() is not None:
            raise UnknownStatement(f"after the topic comes {self._peek()!r}")

    def apply(self, event: Event) -> Event:
        """What the rule sends on for an event; what is undefined is left out."""
        made = {name: expression(event) for name, expression in self._columns.items()}
        return _defined(made)

    def _select(self) -> dict[str, Expression]:
        self._expect("SELECT")
        columns = {}
        while True:
            expression = self._comparison()
            self._expect("AS")
            columns[self._take()] = expression
            if not self._accept(","):
                break
        self._expect("FROM")
        return columns

    def _comparison(self) -> Expression:
        left = self._sum()
        if not self._accept(">"):
            return left
        right = self._sum()
        return lambda event: left(event) > right(event)

    def _sum(self) -> Expression:
        left = self._product()
        while self._accept("+"):
            left = _arithmetic(operator.add, left, self._product())
        return left

    def _product(self) -> Expression:
        left = self._value()
        while (sign := self._peek()) in ("*", "/"):
            self._take()
            left = _arithmetic(operator.mul if sign == "*" else operator.truediv, left, self._value())
        return left

    def _value(self) -> Expression:
        if self._accept("{"):
            return self._object()
        if self._accept("CASE"):
            return self._case()
        token = self._peek()
        if token is not None and token.startswith("'"):
            literal = self._string()
            return lambda event: literal
        name = self._take()
        if name.isdigit():
            return lambda event: int(name)
        if name in ("true", "false"):
            return lambda event: name == "true"
        if self._accept("("):
            return self._call(name)
        return lambda event: event.get(name, UNDEFINED)

    def _object(self) -> Expression:
        members = {}
        while True:
            key = self._string()
            self._expect(":")
            members[key] = self._comparison()
            if not self._accept(","):
                break
        self._expect("}")
        return lambda event: _defined({key: value(event) for key, value in members.items()})

    def _case(self) -> Expression:
        subject = self._comparison()
        self._expect("WHEN")
        wanted = self._value()
        self._expect("THEN")
        then = self._value()
        self._expect("ELSE")
        otherwise = self._value()
        self._expect("END")
        return lambda event: (then if subject(event) == wanted(event) else otherwise)(event)

    def _call(self, function: str) -> Expression:
        arguments = []
        while not self._accept(")"):
            arguments.append(self._comparison())
            self._accept(",")
        if function == "timestamp" and not arguments:
            return lambda event: now_ms()
        if function == "concat":
            return lambda event: _concatenated([argument(event) for argument in arguments])
        if function == "floor" and len(arguments) == 1:
            return lambda event: _floored(arguments[0](event))
        raise UnknownStatement(f"the function {function}")

    def _peek(self) -> str | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _take(self) -> str:
        token = self._peek()
        if token is None:
            raise UnknownStatement("the statement ends too early")
        self._next += 1
        return token

    def _accept(self, token: str) -> bool:
        if self._peek() != token:
            return False
        self._next += 1
        return True

    def _expect(self, token: str) -> None:
        found = self._take()
        if found != token:
            raise UnknownStatement(f"{found!r} in place of {token}")

    def _string(self) -> str:
        token = self._take()
        if not token.startswith("'"):
            raise UnknownStatement(f"{token!r} in place of a string")
        return token[1:-1]


def presence_rule(assembly: Assembly) -> Rule:
    """The rule on devices that connect, as the synthesized template states it."""
    (found,) = assembly.resources("AWS::IoT::TopicRule")
    return Rule(found.properties["TopicRulePayload"]["Sql"])


def _tokens(statement: str) -> list[str]:
    tokens, position = [], 0
    while position < len(statement.rstrip()):
        match = _TOKEN.match(statement, position)
        if match is None:
            raise UnknownStatement(f"{statement[position:position + 20]!r}")
        token = match[match.lastgroup or 0]
        tokens.append(token)
        position = match.end()
    return tokens


def _arithmetic(of: Callable[[Any, Any], Any], left: Expression, right: Expression) -> Expression:
    def result(event: Event) -> Any:
        values = left(event), right(event)
        return UNDEFINED if UNDEFINED in values else of(*values)

    return result


def _floored(value: Any) -> Any:
    return UNDEFINED if value is UNDEFINED else math.floor(value)


def _concatenated(parts: list[Any]) -> Any:
    if any(part is UNDEFINED for part in parts):
        return UNDEFINED
    return "".join(part if isinstance(part, str) else json.dumps(part) for part in parts)


def _defined(values: Event) -> Event:
    return {name: value for name, value in values.items() if value is not UNDEFINED}
