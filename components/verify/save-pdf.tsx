/** Makes a PDF in a worker and hands it to the browser as a download: loaded when somebody wants one. */
import type { PdfDocument } from "./pdf-document";
import type { PdfAnswer } from "./pdf-worker";

export function saveFile(name: string, type: string, content: string | Uint8Array | Blob): void {
  const url = URL.createObjectURL(new Blob([content as BlobPart], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

function renderInWorker(document: PdfDocument): Promise<Uint8Array> {
  const worker = new Worker(new URL("./pdf-worker.tsx", import.meta.url), { type: "module" });
  return new Promise<Uint8Array>((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<PdfAnswer>) =>
      "bytes" in data ? resolve(data.bytes) : reject(new Error(data.problem));
    worker.onerror = () => reject(new Error("it couldn't be loaded"));
    worker.postMessage(document);
  }).finally(() => worker.terminate());
}

/** Rejects if the worker can't be loaded, or the PDF can't be made. */
export async function savePdf(fileName: string, document: PdfDocument): Promise<void> {
  saveFile(fileName, "application/pdf", await renderInWorker(document));
}
