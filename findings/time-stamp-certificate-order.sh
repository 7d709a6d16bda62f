#!/bin/sh
# rfc3161-client 1.0.9 (PyPI; sigstore-python reads time stamps with it) beside OpenSSL 3 and @sigstore/core 3.2.1 (npm, Node
# 20): OpenSSL writes the certificates of a time stamp as they come, the signer's first, then those of `certs`, which its own
# openssl.cnf sets to the issuer's. rfc3161-client takes them in the order of DER alone, by length first. So whether it reads an
# authority's stamps or throws InvalidSetOrdering depends on which of two certificates is longer: a word more in the signer's
# name, and every stamp is refused. RFC 5652 asks for BER there; OpenSSL and @sigstore/core read both.
# Output:  signer's shorter: read, read, read   signer's longer: read, read, InvalidSetOrdering
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
prompt = no
[name]
CN = Issuer
[issuer]
basicConstraints = critical, CA:true
subjectKeyIdentifier = none
authorityKeyIdentifier = none
[signer]
extendedKeyUsage = critical, timeStamping
subjectKeyIdentifier = none
authorityKeyIdentifier = none
[stamp]
serial = serial
signer_digest = sha256
default_policy = 1.2.3.4
digests = sha256
certs = issuer.pem
ess_cert_id_alg = sha256
S
openssl req -x509 -newkey rsa:2048 -nodes -keyout issuer.key -out issuer.pem -config authority.cnf -extensions issuer \
  -subj "/CN=An issuer with a long name" -days 2 2>/dev/null
openssl req -newkey rsa:2048 -nodes -keyout signer.key -out signer.csr -config authority.cnf 2>/dev/null
echo 01 >serial
openssl ts -query -data authority.cnf -sha256 -cert -out query 2>/dev/null
cat > read.cjs <<'S'
const { RFC3161Timestamp } = require("@sigstore/core");
console.log(RFC3161Timestamp.parse(require("node:fs").readFileSync("reply")).signingTime > 0 ? "read" : "not read");
S
cat > read.py <<'S'
import re
from rfc3161_client import decode_timestamp_response
try:
    print("read" if decode_timestamp_response(open("reply", "rb").read()).tst_info.gen_time else "not read")
except ValueError as error:
    print(re.search(r"kind: (\w+)", str(error))[1])
S
show() {
  openssl x509 -req -in signer.csr -subj "/CN=$1" -CA issuer.pem -CAkey issuer.key -CAcreateserial -out signer.pem -days 2 \
    -extfile authority.cnf -extensions signer 2>/dev/null
  openssl ts -reply -config authority.cnf -section stamp -queryfile query -signer signer.pem -inkey signer.key -out reply 2>/dev/null
  if openssl ts -verify -queryfile query -in reply -CAfile issuer.pem >/dev/null 2>&1; then openssl="read"; else openssl="refused"; fi
  echo "$openssl, $(node read.cjs), $(python/bin/python read.py)"
}
found="signer's shorter: $(show A)   signer's longer: $(show "A signer with a name that is longer")"
echo "$found"
[ "$found" = "signer's shorter: read, read, read   signer's longer: read, read, InvalidSetOrdering" ]
