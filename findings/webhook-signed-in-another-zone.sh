#!/bin/sh
# standardwebhooks 1.1.0 (PyPI) beside standardwebhooks 1.1.1 (npm), Node 20: sign() of the Python library takes a time with a
# zone for UTC: it replaces the zone instead of converting the time. What is sent at 12:00+02:00, which is 10:00 UTC, is signed
# for 12:00 UTC. The header says 10:00, and neither library verifies it. The same moment written in UTC verifies in both.
# Known upstream as #251.
# Output:  UTC: python verifies, node verifies   +02:00: python No matching signature found, node No matching signature found
# Exits with 1 if that is no longer so.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error standardwebhooks@1.1.1 >/dev/null
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check standardwebhooks==1.1.0
cat > sign.py <<'S'
import json, sys
from datetime import datetime, timedelta, timezone
from standardwebhooks import Webhook
webhook = Webhook(b"secret")
time = datetime.now(timezone(timedelta(hours=int(sys.argv[1]))))
signature = webhook.sign("msg_1", time, "{}")
headers = {"webhook-id": "msg_1", "webhook-timestamp": str(int(time.timestamp())), "webhook-signature": signature}
json.dump(headers, open("headers.json", "w"))
try:
    webhook.verify("{}", headers)
    print("verifies")
except Exception as error:
    print(error)
S
cat > verify.cjs <<'S'
const { Webhook } = require("standardwebhooks");
try {
  new Webhook("secret", { format: "raw" }).verify("{}", require("./headers.json"));
  console.log("verifies");
} catch (error) {
  console.log(error.message);
}
S
show() { echo "python $(python/bin/python sign.py "$1"), node $(node verify.cjs)"; }
found="UTC: $(show 0)   +02:00: $(show 2)"
echo "$found"
[ "$found" = "UTC: python verifies, node verifies   +02:00: python No matching signature found, node No matching signature found" ]
