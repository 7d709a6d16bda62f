#!/bin/sh
# @opentelemetry/exporter-trace-otlp-http beside exporter-trace-otlp-proto, both 0.223.1 (npm), Node 20, read by the Collector's
# own go.opentelemetry.io/collector/pdata 1.71.0, Go 1.26: a whole number from 2^63 on is a double to the protobuf exporter,
# and an `intValue`, which has 64 bits and a sign, to the JSON exporter. The Collector's reader refuses the whole request for it,
# not the number: one attribute of one span loses every span that is sent with it. 9223372036854775807, the greatest number
# that would fit, is 2^63 in JavaScript, so it is one of them.
# Output (spans read of two, the number):  json: 2^62 2 int   2^63 0 ReadInt64: overflow
#                                          protobuf: 2^62 2 int   2^63 2 double
# Exits with 1 if that is no longer so.
set -eu
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error @opentelemetry/api@1.9.1 @opentelemetry/sdk-trace-base@2.12.1 \
  @opentelemetry/exporter-trace-otlp-http@0.223.1 @opentelemetry/exporter-trace-otlp-proto@0.223.1 >/dev/null
cat > send.mjs <<'S'
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
let name = "";
const server = createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  writeFileSync(name, Buffer.concat(parts));
  response.writeHead(200, { "content-type": request.headers["content-type"] }).end();
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${server.address().port}/v1/traces`;
for (const [format, Exporter] of Object.entries({ json: JsonExporter, protobuf: ProtobufExporter }))
  for (const [power, value] of Object.entries({ 62: 2 ** 62, 63: 9223372036854775807 })) {
    name = `${format}-${power}`;
    const provider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(new Exporter({ url }))] });
    const tracer = provider.getTracer("t");
    tracer.startSpan("one", { attributes: { number: value } }).end();
    tracer.startSpan("two").end();
    await provider.shutdown();
  }
server.close();
server.closeAllConnections();
S
node send.mjs
mkdir reader
cat > reader/go.mod <<'S'
module reader

go 1.26.0

require go.opentelemetry.io/collector/pdata v1.71.0
S
cat > reader/main.go <<'S'
package main

import (
	"fmt"
	"os"
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

func read(format, power string) string {
	body, err := os.ReadFile(format + "-" + power)
	if err != nil {
		panic(err)
	}
	request := ptraceotlp.NewExportRequest()
	if format == "json" {
		err = request.UnmarshalJSON(body)
	} else {
		err = request.UnmarshalProto(body)
	}
	if err != nil {
		reason, _, _ := strings.Cut(err.Error(), ": 9")
		return "0 " + reason
	}
	spans := request.Traces().ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	number, _ := spans.At(0).Attributes().Get("number")
	return fmt.Sprintf("%d %s", spans.Len(), strings.ToLower(number.Type().String()))
}

func main() {
	for _, format := range []string{"json", "protobuf"} {
		fmt.Printf("%s: 2^62 %s   2^63 %s\n", format, read(format, "62"), read(format, "63"))
	}
}
S
export GOPATH="$folder/go" GOFLAGS=-mod=mod
(cd reader && go mod tidy && go build -o ../read) 2>/dev/null
./read | tee out
cat > expected <<'S'
json: 2^62 2 int   2^63 0 ReadInt64: overflow
protobuf: 2^62 2 int   2^63 2 double
S
cmp out expected
