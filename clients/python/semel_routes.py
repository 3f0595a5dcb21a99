"""Between the rules and a server: which rules a path has, and the end of an attempt by its answer."""
from __future__ import annotations

import re
from typing import Any, Iterable, Mapping, Optional

import semel
from semel_expressions import Request
from semel_rules import Fields, Reply, Rules


class Routes:
    """Which rules a path has: pairs of a pattern (`/v1/*`, `/users/*/payments`, `/exact`) and Rules. The first one that matches
    decides; a path that none matches is not guarded."""

    def __init__(self, api: semel.Client, routes: Optional[Iterable[tuple[str, Rules]]], options: Mapping[str, Any]):
        if routes is not None and options:
            raise ValueError("give either routes, each with its Rules, or options for all paths")
        pairs = [("/*", Rules(**options))] if routes is None else routes
        self.api, self.pairs = api, [(self.pattern(path), rules) for path, rules in pairs]

    @staticmethod
    def pattern(path: str) -> re.Pattern[str]:
        if not path.startswith("/") or "**" in path or re.search(r"[^/]\*|\*[^/]", path):
            raise ValueError(f"the path {path!r} does not begin with `/`, or has a `*` that is not a whole segment")
        rest = "/.*" if path.endswith("/*") else ""
        segments = path[:-2] if rest else path
        return re.compile(re.escape(segments).replace(r"\*", "[^/]+") + rest, re.DOTALL)

    def find(self, request: Request) -> Optional[Rules]:
        return next((rules for pattern, rules in self.pairs if pattern.fullmatch(request.path)), None)

    @staticmethod
    def keep(rules: Rules, attempt: semel.Attempt, status: int, fields: Fields, body: Optional[bytes]) -> Optional[Reply]:
        """Ends the attempt by its answer. A reply instead of that answer: nobody could be told the same again."""
        verdict = rules.judge(status, fields)
        if verdict != "store":
            try:
                attempt.release() if verdict == "release" else attempt.unknown()
            except semel.SemelError:
                pass  # the lease decides; the answer is given all the same
            return None
        try:
            try:
                attempt.complete(rules.result(status, fields, body))
            except semel.Rejected as error:
                if body is None or error.problem.get("status") != 413:
                    raise
                attempt.complete(rules.result(status, fields, None))
        except semel.SemelError:
            return rules.lost()
        return None

    @staticmethod
    def first_fields(rules: Rules, attempt: semel.Attempt, status: int, fields: Fields) -> list[tuple[str, str]]:
        """Of the answer to the first caller."""
        kept = rules.judge(status, fields) == "store"
        return rules.to_client(fields) + (rules.expires(attempt.expires_at) if kept else [])
