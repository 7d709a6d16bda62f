/**
 * Entry point of the pictures' worker thread, which draws the card of a link, a tenth of a second each. Bundled to
 * dist/picture-worker.mjs; every exported function is a job that the pool can run under its name.
 */
import "#lib/platform/node-wasm";
import { readFile } from "node:fs/promises";
import { setPriority } from "node:os";
import path from "node:path";
import { isMainThread } from "node:worker_threads";
import { ImageResponse } from "next/og";
import { type CSSProperties, createElement, type ReactNode } from "react";

const folder = path.join(process.cwd(), "node_modules/@fontsource/geist/files");

async function readFont(range: "latin" | "latin-ext", weight: 400 | 600) {
  const data = await readFile(path.join(folder, `geist-${range}-${weight}-normal.woff`));
  return { name: `Geist ${range}`, data, weight, style: "normal" as const };
}

const imageFontFamily = "Geist latin, Geist latin-ext";

let fonts: Promise<Awaited<ReturnType<typeof readFont>>[]> | undefined;

function readImageFonts() {
  fonts ??= Promise.all([
    readFont("latin", 400),
    readFont("latin", 600),
    readFont("latin-ext", 400),
    readFont("latin-ext", 600),
  ]);
  return fonts;
}

// Linux gives each thread a priority of its own: if processors are scarce, requests go before pictures.
if (!isMainThread && process.platform === "linux") setPriority(10);

export interface Card {
  color: string;
  title: string;
  sentence: string;
  subject: string;
  amount: string;
  decided: string;
  /** Time that others vouch for; empty without one. */
  time: string;
}

const size = { width: 1200, height: 630 };

const box = (style: CSSProperties, ...children: ReactNode[]) =>
  createElement("div", { style: { display: "flex", ...style } }, ...children);

const layOut = ({ color, title, sentence, subject, amount, decided, time }: Card) =>
  box(
    {
      width: "100%",
      height: "100%",
      flexDirection: "column",
      justifyContent: "space-between",
      padding: "40px 56px",
      background: "#fafaf8",
      borderTop: `24px solid ${color}`,
      color: "#14181f",
      fontFamily: imageFontFamily,
    },
    box(
      { flexDirection: "column" },
      box({ fontSize: 30, fontWeight: 600 }, "Countersign"),
      box({ marginTop: 16, fontSize: 46, fontWeight: 600, color }, title),
      box({ marginTop: 14, fontSize: 27, lineHeight: 1.3 }, sentence),
    ),
    box(
      { flexDirection: "column", color: "#565d68", lineHeight: 1.3 },
      ...(amount === "" ? [] : [box({ fontSize: 56, fontWeight: 600, color: "#14181f" }, amount)]),
      box({ fontSize: 29 }, subject),
      ...(decided === "" ? [] : [box({ marginTop: 6, fontSize: 26 }, decided)]),
      box({ marginTop: 8, fontSize: 22 }, time),
    ),
  );

export async function drawCard(card: Card): Promise<Uint8Array<ArrayBuffer>> {
  const picture = new ImageResponse(layOut(card), { ...size, fonts: await readImageFonts() });
  return new Uint8Array(await picture.arrayBuffer());
}
