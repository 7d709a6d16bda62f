"""Times as the service writes them: RFC 3339 in UTC with milliseconds."""

from __future__ import annotations

import re
from calendar import isleap
from datetime import datetime, timedelta, timezone

from ._json import Json

_TIME = re.compile(
    r"[0-9]{4}-(?!(?:0[2469]|11)-31|02-30)(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{3}Z"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MS = timedelta(milliseconds=1)
_CYCLE_YEARS = 400
"""Days of the week and leap years repeat. datetime has the years from 1 to 9999 alone."""
_CYCLE_MS = 146_097 * 86_400_000


def parse_time(text: str) -> float:
    """Milliseconds since 1970; NaN for what is no time, which compares as false with everything."""
    is_year_0 = text.startswith("0000-")
    try:
        time = datetime.fromisoformat((f"{_CYCLE_YEARS:04}{text[4:]}" if is_year_0 else text).replace("Z", "+00:00"))
    except ValueError:
        return float("nan")
    return float((time - _EPOCH) // _MS - is_year_0 * _CYCLE_MS) if time.tzinfo else float("nan")


def to_iso(time_ms: float) -> str:
    """Writes a year of more than four digits as JavaScript does."""
    cycles, left = divmod(int(time_ms), _CYCLE_MS)
    time = _EPOCH + left * _MS
    year = time.year + cycles * _CYCLE_YEARS
    written = f"{year:04}" if 0 <= year <= 9999 else f"{year:+07}"
    return f"{written}{time.strftime('-%m-%dT%H:%M:%S.')}{time.microsecond // 1000:03}Z"


def is_time(value: Json) -> bool:
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        return False
    return value[5:10] != "02-29" or isleap(int(value[:4]))
