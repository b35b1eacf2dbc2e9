"""Requests are checked field by field, so that a typing mistake is never silently ignored."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

REQUIRED = object()


class RequestError(Exception):
    """An answer of the kind "error"; `kind` as docs/protocol.md lists them."""

    def __init__(self, kind: str, message: str):
        super().__init__(message.split("\n")[0])
        self.kind = kind


def bad_input(message: str) -> RequestError:
    return RequestError("bad_input", message)


def is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def field(params: dict[str, Any], key: str, default: Any, check: Callable[[Any], bool], expected: str) -> Any:
    value = params.get(key, default)
    if value is REQUIRED:
        raise bad_input(f'field "{key}" is missing')
    if not check(value):
        raise bad_input(f'field "{key}" must be {expected}, found {json.dumps(value)[:60]}')
    return value


def number(params: dict[str, Any], key: str, default: Any, low: float, high: float) -> float:
    def fits(v: Any) -> bool:
        return isinstance(v, (int, float)) and not isinstance(v, bool) and low <= v <= high
    return field(params, key, default, fits, f"a number between {low} and {high}")


def integer(params: dict[str, Any], key: str, default: Any, low: int, high: int) -> int:
    return field(params, key, default, lambda v: is_int(v) and low <= v <= high, f"a whole number from {low} to {high}")


def flag(params: dict[str, Any], key: str, default: bool) -> bool:
    return field(params, key, default, lambda v: isinstance(v, bool), "true or false")


def one_of(params: dict[str, Any], key: str, default: str, known: Iterable[str]) -> str:
    known = list(known)
    return field(params, key, default, lambda v: isinstance(v, str) and v in known, "one of " + ", ".join(known))


def known_fields(params: dict[str, Any], where: str, known: Iterable[str]) -> None:
    known = list(known)
    for key in params:
        if key not in known:
            raise bad_input(f'{where}: unknown field "{key}" (known: {", ".join(known)})')
