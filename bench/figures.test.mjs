import { expect, it } from "vitest";
import {
  describeFigure,
  median,
  medians,
  parseOpensslSpeed,
  parsePgbench,
  parsePss,
  quantile,
  spread,
} from "./figures.mjs";

it("takes quantiles of unsorted values, by size and not by spelling, and leaves the values as they are", () => {
  const values = [100, 9, 20];
  expect(median(values)).toBe(20);
  expect(quantile(values, 0)).toBe(9);
  expect(quantile(values, 0.99)).toBe(100);
  expect(values).toEqual([100, 9, 20]);
});

it("takes the median of each number by itself", () => {
  const rounds = [{ a: 1, b: 30 }, { a: 3, b: 10 }, { a: 2 }];
  expect(medians(rounds)).toEqual({ a: 2, b: 10 });
});

it("tells how far apart values are, whichever is the largest", () => {
  expect(spread([200, 100, 150])).toBe(2);
  expect(spread([100, 200])).toBe(2);
});

it("prints three digits and the unit", () => {
  expect(describeFigure(0.12345, "×")).toBe("0.123 ×");
  expect(describeFigure(1234.5, "/s")).toBe("1235 /s");
});

it("reads pgbench's rate and latency", () => {
  const text = `pgbench (15.18 (Debian 15.18-0+deb12u1))
transaction type: insert.sql
number of clients: 32
number of failed transactions: 0 (0.000%)
latency average = 6.031 ms
initial connection time = 55.106 ms
tps = 5305.793424 (without initial connection time)
`;
  expect(parsePgbench(text)).toEqual({ perSecond: 5305.793424, meanMs: 6.031 });
  expect(() => parsePgbench("pgbench: error: connection failed")).toThrow("pgbench printed something else");
});

it("reads how often openssl signs and verifies", () => {
  const text = `                              sign    verify    sign/s verify/s
 253 bits EdDSA (Ed25519)   0.0000s   0.0001s  21853.0   7436.0
`;
  expect(parseOpensslSpeed(text)).toEqual({ signPerSecond: 21853, verifyPerSecond: 7436 });
});

it("reads the proportional set size, not the sizes beside it", () => {
  const text = `Rss:              100000 kB
Pss:               51200 kB
Pss_Anon:          40000 kB
`;
  expect(parsePss(text)).toBe(50);
});
