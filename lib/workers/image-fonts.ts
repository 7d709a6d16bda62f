/** The fonts of the Open Graph images, from the installed geist package: nothing is fetched. */
import { readFile } from "node:fs/promises";
import path from "node:path";

const folder = path.join(process.cwd(), "node_modules/geist/dist/fonts/geist-sans");

async function readFont(file: string, weight: 400 | 600) {
  const data = await readFile(path.join(folder, file));
  return { name: "Geist", data, weight, style: "normal" as const };
}

let fonts: Promise<Awaited<ReturnType<typeof readFont>>[]> | undefined;

export function readImageFonts() {
  fonts ??= Promise.all([readFont("Geist-Regular.ttf", 400), readFont("Geist-SemiBold.ttf", 600)]);
  return fonts;
}
