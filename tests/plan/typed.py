"""What type checkers know of programs and of the plan; pyright checks this file, and an ignored error that is none is one."""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from typing import assert_type

import headrace as hr
from headrace.errors import Where
from headrace.plan import checks
from headrace.plan.nodes import Filter, KeyBy, Node
from headrace.plan.windows import Emit, Window


def windows(keyed: hr.Stream, window: Window, emit: Emit | None) -> None:
    assert_type(keyed.window(hr.tumbling("1 minute")).agg(n="count(*)"), hr.Table)
    assert_type(keyed.window(hr.hopping("1 minute", every="1 second")).count(), hr.Table)
    assert_type(keyed.window(hr.calendar("day"), late="divert").count(), hr.Table)
    assert_type(keyed.window(hr.session(gap="1 minute")).count(), hr.Stream)
    assert_type(keyed.window(hr.sliding("1 minute"), close_after="1 hour").count(), hr.Stream)
    assert_type(keyed.window(hr.cumulating("day", every="1 hour")).count(), hr.Stream)
    assert_type(keyed.window(hr.tumbling("1 minute"), emit="final").count(), hr.Stream)
    assert_type(keyed.window(hr.tumbling("1 minute"), emit=hr.every("1 second")).count(), hr.Stream)
    assert_type(keyed.window(hr.session(gap="1 minute"), emit="updates").count(), hr.Table)
    assert_type(keyed.window(hr.tumbling("1 minute"), emit="all").count(), hr.Table)
    assert_type(keyed.window(window, emit=emit).count(), hr.Table | hr.Stream)
    assert_type(keyed.window(hr.tumbling("1 minute"), late="divert").late, hr.Stream)
    keyed.window(hr.tumbling("1 minute")).count().dedupe("n")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    keyed.window(hr.tumbling("1 minute"), emit="finally")  # pyright: ignore[reportArgumentType, reportCallIssue]


def nodes(node: Node, where: Where) -> None:
    Filter(**checks.same(node, where), input=node, condition="true")
    KeyBy(**checks.same(node, where, key=("k",)), input=node)
    checks.same(node, where, keys=("k",))  # pyright: ignore[reportCallIssue]
    checks.same(node, where, key="k")  # pyright: ignore[reportArgumentType]
    Filter(**checks.same(node, where), input=node, conditions="true")  # pyright: ignore[reportCallIssue]
    Filter(**checks.same(node, where), input=node)  # pyright: ignore[reportCallIssue]
