/** The worker of pdf-button.tsx: pdfkit and its fonts load only here, when somebody wants a PDF. */
import Kit from "pdfkit";
import { type PdfDocument, type PdfKit, renderPdf } from "./pdf-document";

const files = {
  regular: [
    new URL("../../node_modules/@fontsource/geist/files/geist-latin-400-normal.woff", import.meta.url),
    new URL("../../node_modules/@fontsource/geist/files/geist-latin-ext-400-normal.woff", import.meta.url),
    new URL("../../node_modules/@fontsource/geist/files/geist-cyrillic-400-normal.woff", import.meta.url),
  ],
  bold: [
    new URL("../../node_modules/@fontsource/geist/files/geist-latin-600-normal.woff", import.meta.url),
    new URL("../../node_modules/@fontsource/geist/files/geist-latin-ext-600-normal.woff", import.meta.url),
    new URL("../../node_modules/@fontsource/geist/files/geist-cyrillic-600-normal.woff", import.meta.url),
  ],
};

async function load(url: URL): Promise<Uint8Array> {
  const response = await fetch(url);
  if (!response.ok) throw new Error("a font couldn't be loaded");
  return new Uint8Array(await response.arrayBuffer());
}

export type PdfAnswer = { readonly bytes: Uint8Array } | { readonly problem: string };

async function render(document: PdfDocument): Promise<PdfAnswer> {
  try {
    const fonts = {
      regular: await Promise.all(files.regular.map(load)),
      bold: await Promise.all(files.bold.map(load)),
    };
    return { bytes: await renderPdf(Kit as unknown as PdfKit, fonts, document) };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : "the PDF couldn't be made" };
  }
}

self.onmessage = ({ data }: MessageEvent<PdfDocument>) => {
  void render(data).then((answer) => self.postMessage(answer));
};
