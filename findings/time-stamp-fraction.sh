#!/bin/sh
# @sigstore/core 3.2.1 (npm), Node 20, and rfc3161-client 1.0.9 (PyPI): a time stamp may have a fraction of a second, whose
# trailing zeros are left out (RFC 3161, section 2.4.2). @sigstore/core takes a fraction of exactly three digits, which it drops,
# and throws "invalid time" at any other. Of an authority whose clock has milliseconds it reads nine stamps of ten, and fails at
# those whose last digit is a zero. rfc3161-client drops each fraction: its gen_time is up to a second early, though it hands out
# the accuracy in microseconds. The authority is OpenSSL 3 (`clock_precision_digits`).
# Output:  3 digits: @sigstore/core whole second, rfc3161-client whole second   2 digits: invalid time, whole second
# Exits with 1 if that is no longer so.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error @sigstore/core@3.2.1 >/dev/null
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check rfc3161-client==1.0.9
cat > authority.cnf <<'S'
[req]
distinguished_name = name
x509_extensions = extensions
prompt = no
[name]
CN = Authority
[extensions]
extendedKeyUsage = critical, timeStamping
[stamp]
serial = serial
signer_digest = sha256
default_policy = 1.2.3.4
digests = sha256
accuracy = secs:1, microsecs:100
clock_precision_digits = 3
ess_cert_id_alg = sha256
S
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -config authority.cnf -days 2 2>/dev/null
echo 01 >serial
openssl ts -query -data authority.cnf -sha256 -cert -out query 2>/dev/null
stamp() {
  for _ in $(seq 200); do
    openssl ts -reply -config authority.cnf -section stamp -queryfile query -signer cert.pem -inkey key.pem -out "stamp$1" 2>/dev/null
    if openssl ts -reply -in "stamp$1" -text 2>/dev/null | grep -qE "^Time stamp: .*:[0-9]{2}\.[0-9]{$1} "; then return; fi
  done
  echo "no stamp with $1 digits" >&2
  exit 1
}
stamp 3
stamp 2
cat > read.cjs <<'S'
const { RFC3161Timestamp } = require("@sigstore/core");
try {
  const { signingTime } = RFC3161Timestamp.parse(require("node:fs").readFileSync(process.argv[2]));
  console.log(signingTime.getMilliseconds() === 0 ? "whole second" : "fraction");
} catch (error) {
  console.log(error.message);
}
S
cat > read.py <<'S'
import sys
from rfc3161_client import decode_timestamp_response
time = decode_timestamp_response(open(sys.argv[1], "rb").read()).tst_info.gen_time
print("whole second" if time.microsecond == 0 else "fraction")
S
show() { echo "$(node read.cjs "stamp$1"), $(python/bin/python read.py "stamp$1")"; }
found="3 digits: $(show 3)   2 digits: $(show 2)"
echo "$found"
[ "$found" = "3 digits: whole second, whole second   2 digits: invalid time, whole second" ]
