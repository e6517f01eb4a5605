"""The picture of the shares, in the style of the pictures that ``make simulate`` writes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_STYLED = Path(__file__).parents[2] / "docs/img/storm.svg"
_TITLE = "Eight slots, runs of 20 ms: how much of the downstream is used"
_WIDTH = 418


def draw(queues: dict[str, dict[str, Any]]) -> str:
    """One bar per queue, longest first."""
    shares = {name: of["runs of 20 ms"]["share"] for name, of in queues.items()}
    ordered = sorted(shares.items(), key=lambda one: -one[1])
    bars = "".join(_bar(92 + 36 * row, name, share) for row, (name, share) in enumerate(ordered))
    height = 108 + 36 * len(ordered)
    found = re.search("<style>.*?</style>", _STYLED.read_text(), re.DOTALL)
    assert found, _STYLED
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="720" height="{height}" viewBox="0 0 720 {height}" role="img" '
        f'aria-label="{_TITLE}">{found[0]}<rect class="card" x="0.5" y="0.5" width="719" height="{height - 1}" rx="8"></rect>'
        f'<text x="28" y="38" class="title">{_TITLE}</text>'
        f'<text x="28" y="62" class="muted">Share of what a bare client with eight connections uses</text>{bars}</svg>'
    )


def _bar(top: int, name: str, share: float) -> str:
    own = name == "freshq"
    width = _WIDTH * min(share, 1)
    label, bar = ("freshq strong", "freshq") if own else ("muted", "other")
    return (
        f'<text x="194" y="{top + 17}" class="{label} end">{name}</text>'
        f'<rect class="bar {bar}" x="204" y="{top}" width="{width:.1f}" height="24" rx="3"></rect>'
        f'<text x="{212 + width:.1f}" y="{top + 17}" class="{label}">{100 * share:.0f} %</text>'
    )
