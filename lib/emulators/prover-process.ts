/**
 * The program that makes the stand-in's proofs (dist/prover.mjs, started by ./prover.ts): one message, one proof, until the
 * server goes away. A process and not a thread, because snarkjs's worker library takes any thread for one of its workers.
 *
 * Most of a proof's time goes into sums of points times scalars. Of one human's 4,600 scalars only 240 depend on the
 * request, so that all sums but one are the human's last one and a small difference.
 */
import "#lib/platform/node-wasm";
import { createRequire } from "node:module";
import type { ProverTask } from "./prover";

type Point = unknown;
interface Group {
  add(a: Point, b: Point): Point;
  /** Points and scalars lie one after the other; scalars have 32 bytes, the lowest first. */
  multiExpAffine(points: Uint8Array, scalars: Uint8Array, logger: unknown, name: string): Promise<Point>;
}
interface Curve {
  r: bigint;
  G1: Group;
  G2: Group;
}
interface Snarkjs {
  curves: { getCurveFromName(name: string, options: object): Promise<Curve> };
  wtns: { calculate(input: object, wasm: string, witness: object): Promise<void> };
  groth16: { prove(zkey: string, witness: object): Promise<object> };
}

const scalarBytes = 32;

const at = (bytes: Uint8Array, index: number, size: number) =>
  bytes.subarray(index * size, (index + 1) * size);

const toNumber = (scalar: Uint8Array) => BigInt(`0x${Buffer.from(scalar).reverse().toString("hex")}`);

const toScalar = (number: bigint) =>
  Buffer.from(number.toString(16).padStart(2 * scalarBytes, "0"), "hex").reverse();

/** `getOwner`: whose scalars come; sums of one owner differ little. */
function reuseSums(group: Group, order: bigint, getOwner: () => string): void {
  const sum = group.multiExpAffine.bind(group);
  const last = new Map<string, { scalars: Uint8Array; result: Point }>();
  group.multiExpAffine = async (points, scalars, logger, name) => {
    const key = `${getOwner()} ${name}`;
    const known = last.get(key);
    const count = scalars.length / scalarBytes;
    const size = points.length / count;
    if (known !== undefined) {
      const changed = Array.from({ length: count }, (_, i) => i).filter(
        (i) => Buffer.compare(at(scalars, i, scalarBytes), at(known.scalars, i, scalarBytes)) !== 0,
      );
      if (changed.length === 0) return known.result;
      if (changed.length < count / 2) {
        const differences = changed.map((i) => {
          const [now, before] = [scalars, known.scalars].map((all) => toNumber(at(all, i, scalarBytes)));
          return toScalar(((now ?? 0n) - (before ?? 0n) + order) % order);
        });
        const moved = Buffer.concat(changed.map((i) => at(points, i, size)));
        return group.add(known.result, await sum(moved, Buffer.concat(differences), logger, name));
      }
    }
    const result = await sum(points, scalars, logger, name);
    last.set(key, { scalars: scalars.slice(), result });
    return result;
  };
}

let owner = "";

/** The curve that snarkjs finds and uses: single-threaded, and kept between proofs with its compiled code. */
async function openSnarkjs(file: string): Promise<Snarkjs> {
  const snarkjs = createRequire(file)(file) as Snarkjs;
  const curve = await snarkjs.curves.getCurveFromName("bn128", { singleThread: true });
  for (const group of [curve.G1, curve.G2]) reuseSums(group, curve.r, () => owner);
  (globalThis as { curve_bn128?: Curve }).curve_bn128 = curve;
  return snarkjs;
}

let opened: Promise<Snarkjs> | undefined;

process.on("message", async (task: ProverTask) => {
  opened ??= openSnarkjs(task.snarkjs);
  const snarkjs = await opened;
  owner = task.owner;
  const witness = { type: "mem" };
  await snarkjs.wtns.calculate(task.input, task.wasm, witness);
  process.send?.(await snarkjs.groth16.prove(task.zkey, witness));
});
process.on("disconnect", () => process.exit(0));
