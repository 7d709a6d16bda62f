"""Times as the service writes them: RFC 3339 in UTC with milliseconds."""

from __future__ import annotations

import re
from datetime import datetime, timezone

from .._json import Json


def parse_time(text: str) -> float:
    """Milliseconds since 1970; NaN for what is no time, which compares as false with everything."""
    try:
        time = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return float("nan")
    return time.timestamp() * 1000 if time.tzinfo else float("nan")


def to_iso(time_ms: float) -> str:
    time = datetime.fromtimestamp(time_ms / 1000, timezone.utc)
    return time.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time.microsecond // 1000:03}Z"


def is_time(value: Json) -> bool:
    if not isinstance(value, str) or not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", value):
        return False
    time = parse_time(value)
    return time == time and to_iso(time) == value
