# Reads [[expression, zone, start, count], …] as JSON on stdin and prints what croniter makes of each: times in seconds since 1970.
import json
import sys
from datetime import datetime, timezone
from zoneinfo import ZoneInfo

from croniter import croniter


def times(expression, zone, start, count):
    begin = datetime.fromtimestamp(start, timezone.utc).astimezone(ZoneInfo(zone))
    # As cron itself does it: a day that begins with * restricts the other instead of adding to it.
    found = croniter(expression, begin, implement_cron_bug=True, second_at_beginning=True)
    return [int(found.get_next(float)) for _ in range(count)]


json.dump([times(*case) for case in json.load(sys.stdin)], sys.stdout)
