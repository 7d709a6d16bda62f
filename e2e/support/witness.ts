/** A small witness for tests (c2sp.org/tlog-witness), which checks signatures and consistency for real. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Signer } from "#lib/log/signing/signing-keys";
import { bytesEqual } from "#lib/protocol/encoding/bytes";
import {
  cosignCheckpoint,
  encodeSignatureLine,
  encodeVerifierKey,
  makeVerifierKey,
  type VerifierKey,
  verifyCheckpoint,
} from "#lib/protocol/tlog/checkpoint";
import { verifyConsistency } from "#lib/protocol/tlog/merkle";
import { parseAddCheckpoint } from "#lib/protocol/tlog/tlog-proof";

export interface TestWitness {
  vkey: string;
  key: VerifierKey;
  /** An entry of the setting WITNESSES. */
  entry: string;
  /** Checkpoint that it has cosigned last, by origin. */
  seen: Map<string, { size: number; root: Uint8Array }>;
  /** Origins and keys of the logs that it follows. */
  follow(logKey: VerifierKey): void;
  /** Down: it drops every connection. */
  setDown(isDown: boolean): void;
  /** Sets how far its clock is ahead of this machine's. */
  setClockAhead(seconds: number): void;
  /** Counts the checkpoints it was sent. */
  asked(): number;
  /** Signs with this key too from now on; answers the entry of it. */
  addKey(signer: Signer): string;
  /** Lines of other keys that it answers beside its own. */
  setOtherLines(lines: string): void;
  close(): Promise<void>;
}

interface Answer {
  status: number;
  body?: string;
  type?: string;
}

const sizeAnswer = (size: number): Answer => ({ status: 409, body: `${size}\n`, type: "text/x.tlog.size" });

export async function startTestWitness(name: string, signer: Signer): Promise<TestWitness> {
  const toKey = ({ publicKey }: Signer) => makeVerifierKey(name, 4, publicKey);
  const key = toKey(signer);
  const signers = [signer];
  const logs = new Map<string, VerifierKey>();
  const seen: TestWitness["seen"] = new Map();
  let isDown = false;
  let aheadSeconds = 0;
  let otherLines = "";
  let asked = 0;

  async function judge(body: string): Promise<Answer> {
    const { oldSize, proof, checkpoint: note } = parseAddCheckpoint(body);
    const origin = note.split("\n")[0] ?? "";
    const logKey = logs.get(origin);
    if (logKey === undefined) return { status: 404 };
    const verdict = verifyCheckpoint(note, logKey);
    if (!verdict.ok) return { status: 403 };
    const { size, root } = verdict.checkpoint;
    if (oldSize > size) return { status: 400 };
    const last = seen.get(origin);
    if (oldSize !== (last?.size ?? 0)) return sizeAnswer(last?.size ?? 0);
    if (last !== undefined) {
      if (last.size === size && !bytesEqual(last.root, root)) return sizeAnswer(last.size);
      const claim = { oldSize, oldRoot: last.root, newSize: size, newRoot: root, proof };
      if (!verifyConsistency(claim)) return { status: 422 };
    } else if (proof.length > 0) return { status: 422 };
    seen.set(origin, { size, root });
    const now = Math.floor(Date.now() / 1000) + aheadSeconds;
    const lines = signers.map((one) =>
      cosignCheckpoint(verdict.note.text, toKey(one), now, (bytes) => one.sign(bytes)),
    );
    return { status: 200, body: otherLines + (await Promise.all(lines)).map(encodeSignatureLine).join("") };
  }

  async function serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    if (isDown) {
      outgoing.destroy();
      return;
    }
    const isOurs = incoming.method === "POST" && incoming.url === "/w/add-checkpoint";
    if (isOurs) asked += 1;
    const answer: Answer = isOurs
      ? await judge(await text(incoming)).catch(() => ({ status: 400 }))
      : { status: 404 };
    outgoing.writeHead(answer.status, { "content-type": answer.type ?? "text/plain; charset=utf-8" });
    outgoing.end(answer.body ?? "");
  }

  const server = createServer((incoming, outgoing) => void serve(incoming, outgoing));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/w`;
  const vkey = encodeVerifierKey(key);
  return {
    vkey,
    key,
    entry: `${vkey} ${url}`,
    seen,
    follow: (logKey) => logs.set(logKey.name, logKey),
    setDown: (down) => {
      isDown = down;
    },
    setClockAhead: (seconds) => {
      aheadSeconds = seconds;
    },
    asked: () => asked,
    addKey: (other) => {
      signers.push(other);
      return `${encodeVerifierKey(toKey(other))} ${url}`;
    },
    setOtherLines: (lines) => {
      otherLines = lines;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
