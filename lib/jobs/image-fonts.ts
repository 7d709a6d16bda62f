/** The fonts of the Open Graph images, from the installed package: nothing is fetched. Its files are one for each range. */
import { readFile } from "node:fs/promises";
import path from "node:path";

const folder = path.join(process.cwd(), "node_modules/@fontsource/geist/files");

async function readFont(range: "latin" | "latin-ext", weight: 400 | 600) {
  const data = await readFile(path.join(folder, `geist-${range}-${weight}-normal.woff`));
  return { name: `Geist ${range}`, data, weight, style: "normal" as const };
}

export const imageFontFamily = "Geist latin, Geist latin-ext";

let fonts: Promise<Awaited<ReturnType<typeof readFont>>[]> | undefined;

export function readImageFonts() {
  fonts ??= Promise.all([
    readFont("latin", 400),
    readFont("latin", 600),
    readFont("latin-ext", 400),
    readFont("latin-ext", 600),
  ]);
  return fonts;
}
