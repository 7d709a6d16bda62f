/** The worker of run-pack.tsx: one evidence pack, checked with the code of the offline verifier, and then made into words. */
import { utf8Decode } from "#lib/protocol/encoding/bytes";
import { crc32, inflateInBrowser } from "#lib/protocol/encoding/zip";
import { listNotProven } from "#lib/protocol/pack/pack-report";
import { listPackRows, renderPackCsv, sumPackRows } from "#lib/protocol/pack/pack-rows";
import { parseTrust } from "#lib/verifier/checks/trust";
import { checkPack, explainVerdict, listWarnings } from "#lib/verifier/pack/check-pack";
import type { PackAnswer, PackJob } from "./run-pack";

/** A message for each entry would keep the page from drawing. */
const progressMs = 100;

const tell = (answer: PackAnswer) => self.postMessage(answer);

async function run({ file, trust, program }: PackJob): Promise<PackAnswer> {
  let toldAt = 0;
  const onProgress = (done: number, total: number) => {
    if (performance.now() - toldAt < progressMs) return;
    toldAt = performance.now();
    tell({ kind: "progress", done, total });
  };
  const report = await checkPack(new Uint8Array(await file.arrayBuffer()), {
    tools: { inflate: inflateInBrowser, crc32 },
    trust: parseTrust(trust),
    program: program === null ? null : new Uint8Array(program),
    onProgress,
  });
  const { agents, checks, verdict } = report;
  const rows = listPackRows(agents);
  return {
    kind: "checked",
    checked: {
      verdict,
      sentence: explainVerdict(report),
      checks,
      warnings: listWarnings(report),
      agents: agents.map(({ facts }) => facts),
      rows,
      sums: sumPackRows(rows),
      notProven: listNotProven(agents.map(({ facts }) => facts)),
      csv: renderPackCsv(agents),
      html: report.html === null ? null : utf8Decode(report.html),
    },
  };
}

self.onmessage = ({ data }: MessageEvent<PackJob>) => {
  run(data).then(tell, (error: unknown) =>
    tell({ kind: "failed", problem: error instanceof Error ? error.message : "the verifier failed" }),
  );
};
