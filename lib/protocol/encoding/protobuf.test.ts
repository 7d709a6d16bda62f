/** Bytes of real serializers are read as their JSON; whatever else comes is read to its end or refused. */
import { ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeProtobuf, encodeProtobuf, type Message } from "./protobuf";

const node: Message = {
  1: ["text", "string"],
  2: ["flag", "bool"],
  3: ["number", "int64"],
  4: ["ratio", "double"],
  5: ["children", [() => node]],
  6: ["id", "id"],
  7: ["time", "fixed64"],
  8: ["kind", "enum"],
  9: ["raw", "bytes"],
};

const nested = (depth: number) => {
  let bytes = encodeProtobuf({ 1: "leaf" });
  for (let level = 1; level < depth; level += 1) bytes = encodeProtobuf({ 5: bytes });
  return bytes;
};

describe("a message", () => {
  it("has its fields in the shape of JSON, without those that are unknown or of another wire type", () => {
    const bytes = Uint8Array.from([
      ...[0x0a, 0x02, 0xc3, 0xa9, 0x10, 0x01],
      ...[0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
      ...[0x21, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f],
      ...[0x32, 0x02, 0xab, 0xcd],
      ...[0x39, 1, 0, 0, 0, 0, 0, 0, 0x80],
      ...[0x40, 0x02, 0x4a, 0x01, 0xff],
      ...[
        0x9a, 0x06, 0x01, 0x00, 0x98, 0x06, 0x80, 0x01, 0x9d, 0x06, 1, 2, 3, 4, 0x99, 0x06, 1, 2, 3, 4, 5, 6,
        7, 8,
      ],
      ...[0x08, 0x07],
    ]);
    expect(decodeProtobuf(bytes, node)).toEqual({
      text: "é",
      flag: true,
      number: "-1",
      ratio: 1.5,
      id: "abcd",
      time: "9223372036854775809",
      kind: 2,
      raw: "/w==",
    });
    expect(
      decodeProtobuf(encodeProtobuf({ 5: encodeProtobuf({ 1: "x".repeat(300) }), 3: 300 }), node),
    ).toEqual({
      number: "300",
      children: [{ text: "x".repeat(300) }],
    });
  });

  it.each([
    ["a length after its end", [0x0a, 0x05, 0x61]],
    ["a cut number", [0x18, 0x80]],
    ["a number without an end", [0x18, ...Array(11).fill(0xff)]],
    ["a length without an end", [0x0a, ...Array(6).fill(0xff)]],
    ["a group", [0x9b, 0x06]],
    ["no UTF-8", [0x0a, 0x01, 0xff]],
    ["a cut number of 64 bits", [0x39, 1, 2, 3]],
  ])("is refused with %s", (_, bytes) => {
    expect(() => decodeProtobuf(Uint8Array.from(bytes), node)).toThrow(RangeError);
  });

  it("is refused if it is nested too deeply, or made of too many", () => {
    expect(decodeProtobuf(nested(60), node)).toHaveProperty("children");
    expect(() => decodeProtobuf(nested(70), node)).toThrow(/deeply/);
    const many = new Uint8Array(500_000);
    for (let at = 0; at < many.length; at += 2) many[at] = 0x2a;
    expect(() => decodeProtobuf(many, node)).toThrow(/messages/);
  });

  it("is read or refused with a RangeError, whatever its bytes are", () => {
    const real = ProtobufTraceSerializer.serializeRequest([]) as Uint8Array;
    expect(decodeProtobuf(real, node)).toEqual({});
    const check = (bytes: Uint8Array) => {
      try {
        decodeProtobuf(bytes, node);
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError);
      }
    };
    fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), check), { numRuns: 500 });
  });
});
