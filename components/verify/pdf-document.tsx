/**
 * A tagged PDF (PDF/UA) of headings, facts and tables, for receipts and for reports of evidence packs: pdfkit writes text
 * with its structure, so that screen readers find headings and rows in it. Runs in a worker and in tests.
 */
import { type Amount, formatAmount } from "#lib/protocol/approval/amount";
import { toVisibleText } from "#lib/protocol/text/display-text";

/** An amount is set in bold, on the right. */
export type PdfCell = string | Amount;

export interface PdfColumn {
  readonly header: string;
  /** Width, in parts of all columns together. */
  readonly share: number;
  readonly isNumeric?: boolean;
}

export type PdfBlock =
  | { readonly kind: "heading" | "text"; readonly text: string }
  | { readonly kind: "facts"; readonly rows: readonly (readonly [name: string, value: string])[] }
  | { readonly kind: "list"; readonly items: readonly string[] }
  | {
      readonly kind: "table";
      readonly columns: readonly PdfColumn[];
      readonly rows: readonly (readonly PdfCell[])[];
    };

export interface PdfDocument {
  readonly title: string;
  readonly isLandscape?: boolean;
  readonly blocks: readonly PdfBlock[];
}

/** Files of a font, each with the characters that it has: the first that has one draws it. */
export interface PdfFonts {
  readonly regular: readonly Uint8Array[];
  readonly bold: readonly Uint8Array[];
}

type Weight = keyof PdfFonts;

const margin = 42;
const ink = "#16181d";
const muted = "#545a67";
const accent = "#1f4690";
const line = "#d6d9e0";

interface Run {
  readonly font: string;
  readonly text: string;
}

/** The parts of pdfkit 0.20 that are used here: published types are of an older version. */
interface Structure {
  add(child: Structure | (() => void)): Structure;
  end(): void;
}
interface Pdf {
  x: number;
  y: number;
  page: { width: number; height: number };
  _font: { font: { hasGlyphForCodePoint(code: number): boolean } };
  registerFont(name: string, bytes: Uint8Array): Pdf;
  font(name: string): Pdf;
  fontSize(size: number): Pdf;
  fillColor(color: string): Pdf;
  text(text: string, x: number, y: number, options: object): Pdf;
  heightOfString(text: string, options: object): number;
  struct(type: string, options?: object | (() => void), children?: () => void): Structure;
  addStructure(structure: Structure): Pdf;
  markContent(tag: string, options?: object): Pdf;
  endMarkedContent(): Pdf;
  addPage(): Pdf;
  bufferedPageRange(): { start: number; count: number };
  switchToPage(page: number): Pdf;
  roundedRect(x: number, y: number, width: number, height: number, radius: number): Pdf;
  path(path: string): Pdf;
  moveTo(x: number, y: number): Pdf;
  lineTo(x: number, y: number): Pdf;
  lineWidth(width: number): Pdf;
  translate(x: number, y: number): Pdf;
  scale(factor: number): Pdf;
  save(): Pdf;
  restore(): Pdf;
  fill(color: string): Pdf;
  stroke(color: string): Pdf;
  on(event: "data", listener: (chunk: Uint8Array) => void): Pdf;
  on(event: "end", listener: () => void): Pdf;
  end(): void;
}
export type PdfKit = new (options: object) => Pdf;

function createWriter(Kit: PdfKit, fonts: PdfFonts, { title, isLandscape = false }: PdfDocument) {
  const pdf = new Kit({
    ...{ pdfVersion: "1.7", tagged: true, subset: "PDF/UA", lang: "en", displayTitle: true },
    ...{ size: "A4", layout: isLandscape ? "landscape" : "portrait", margin, bufferPages: true, font: null },
    info: { Title: title, Creator: "Countersign" },
  });
  const names = new Map<Weight, string[]>();
  for (const weight of ["regular", "bold"] as const) {
    const own = fonts[weight].map((_, i) => `${weight} ${i}`);
    for (const [i, name] of own.entries()) pdf.registerFont(name, fonts[weight][i] ?? new Uint8Array());
    names.set(weight, own);
  }
  const width = pdf.page.width - 2 * margin;
  const bottom = pdf.page.height - margin - 18;
  const known = new Map<string, boolean>();

  function draws(font: string, character: string): boolean {
    const key = `${font} ${character}`;
    const found =
      known.get(key) ?? pdf.font(font)._font.font.hasGlyphForCodePoint(character.codePointAt(0) ?? 0);
    known.set(key, found);
    return found;
  }

  /** A character that no font has is written by its code. */
  function splitRuns(text: string, weight: Weight): Run[] {
    const own = names.get(weight) ?? [];
    const [first = ""] = own;
    const runs: { font: string; text: string }[] = [];
    for (const character of toVisibleText(text).replaceAll("⟨", "<").replaceAll("⟩", ">")) {
      const font = own.find((name) => draws(name, character));
      const shown =
        font === undefined
          ? `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}>`
          : character;
      const last = runs.at(-1);
      if (last?.font === (font ?? first)) last.text += shown;
      else runs.push({ font: font ?? first, text: shown });
    }
    return runs.length === 0 ? [{ font: first, text: "" }] : runs;
  }

  interface Style {
    readonly x?: number;
    readonly width?: number;
    readonly weight?: Weight;
    readonly size?: number;
    readonly color?: string;
    readonly align?: "left" | "right";
  }

  /** Continues a line that consists of runs of several fonts, as pdfkit allows. */
  function write(text: string, style: Style = {}, y = pdf.y): void {
    const { x = margin, weight = "regular", size = 10, color = ink, align = "left" } = style;
    const runs = splitRuns(text, weight);
    for (const [i, { font, text: part }] of runs.entries()) {
      const options = { width: style.width ?? width, align, continued: i < runs.length - 1 };
      pdf.font(font).fontSize(size).fillColor(color);
      if (i === 0) pdf.text(part, x, y, options);
      else (pdf as unknown as { text(text: string, options: object): void }).text(part, options);
    }
  }

  function measure(text: string, style: Style): number {
    const { weight = "regular", size = 10 } = style;
    const [first = ""] = names.get(weight) ?? [];
    const shown = splitRuns(text, weight)
      .map((run) => run.text)
      .join("");
    return pdf
      .font(first)
      .fontSize(size)
      .heightOfString(shown, { width: style.width ?? width });
  }

  const reserve = (height: number) => {
    if (pdf.y + height > bottom) pdf.addPage();
  };
  /** Lines and marks say nothing: readers skip them. */
  const decorate = (draw: () => void) => {
    pdf.markContent("Artifact", { type: "Layout" });
    draw();
    pdf.endMarkedContent();
  };

  return { pdf, width, bottom, write, measure, reserve, decorate };
}

type Writer = ReturnType<typeof createWriter>;

/** A heading, a paragraph or an item: one element with its text. */
function writeElement({ pdf, write }: Writer, parent: Structure, tag: string, text: string, style: object) {
  const element = pdf.struct(tag, () => write(text, style));
  parent.add(element);
  element.end();
}

function writeHead(writer: Writer, parent: Structure, title: string): void {
  const { pdf, decorate, width } = writer;
  decorate(() => {
    pdf.save().translate(margin, margin).scale(0.75);
    pdf.roundedRect(0, 0, 32, 32, 7).fill(accent);
    pdf.lineWidth(2.6).path("M7 17.5l4.5 4.5L20 11").stroke("#ffffff");
    pdf.path("M15.5 20.2l1.8 1.8L26 11").stroke("#9dbcff").restore();
  });
  pdf.y = margin + 5;
  writeElement(writer, parent, "P", "Countersign", {
    x: margin + 32,
    weight: "bold",
    size: 12,
    color: accent,
  });
  decorate(() =>
    pdf
      .moveTo(margin, margin + 32)
      .lineTo(margin + width, margin + 32)
      .lineWidth(1)
      .stroke(accent),
  );
  pdf.y = margin + 44;
  writeElement(writer, parent, "H1", title, { weight: "bold", size: 18 });
  pdf.y += 8;
}

interface Row {
  readonly cells: readonly PdfCell[];
  readonly columns: readonly PdfColumn[];
  readonly isHeader: boolean;
}

const padding = 3;

function writeRow(writer: Writer, parent: Structure, { cells, columns, isHeader }: Row): void {
  const { pdf, width, write, measure, reserve, decorate } = writer;
  const all = columns.reduce((sum, { share }) => sum + share, 0);
  let x = margin;
  const placed = columns.map(({ share, isNumeric = false }, i) => {
    const cell = cells[i] ?? "";
    const style = {
      x: x + padding,
      width: (width * share) / all - 2 * padding,
      weight: isHeader || typeof cell !== "string" ? ("bold" as const) : ("regular" as const),
      size: 8,
      color: isHeader ? accent : ink,
      align: isNumeric ? ("right" as const) : ("left" as const),
    };
    x += (width * share) / all;
    return { text: typeof cell === "string" ? cell : formatAmount(cell), style };
  });
  const height = Math.max(...placed.map(({ text, style }) => measure(text, style)));
  reserve(height + 2 * padding);
  const top = pdf.y;
  const row = pdf.struct("TR");
  parent.add(row);
  for (const { text, style } of placed) {
    const cell = isHeader ? pdf.struct("TH", { scope: "Column" }) : pdf.struct("TD");
    row.add(cell);
    cell.add(() => write(text, style, top + padding));
    cell.end();
  }
  row.end();
  pdf.y = top + height + 2 * padding;
  decorate(() =>
    pdf
      .moveTo(margin, pdf.y)
      .lineTo(margin + width, pdf.y)
      .lineWidth(0.5)
      .stroke(line),
  );
}

function writeTable(writer: Writer, parent: Structure, block: PdfBlock & { kind: "table" }): void {
  const { columns, rows } = block;
  if (rows.length === 0) {
    writeElement(writer, parent, "P", "None.", {});
    return;
  }
  const table = writer.pdf.struct("Table");
  parent.add(table);
  writeRow(writer, table, { cells: columns.map(({ header }) => header), columns, isHeader: true });
  for (const cells of rows) writeRow(writer, table, { cells, columns, isHeader: false });
  table.end();
}

/** Names are row headers of a table of two columns. */
function writeFacts(writer: Writer, parent: Structure, block: PdfBlock & { kind: "facts" }): void {
  const { pdf, width, write, measure, reserve, decorate } = writer;
  const nameWidth = Math.min(150, width / 3);
  const table = pdf.struct("Table");
  parent.add(table);
  for (const [name, value] of block.rows) {
    const named = { width: nameWidth - 8, size: 9, color: muted };
    const valued = { x: margin + nameWidth, width: width - nameWidth, size: name === "Amount" ? 16 : 10 };
    const isBold = name === "Amount" || name === "Action";
    const style = { ...valued, weight: isBold ? ("bold" as const) : ("regular" as const) };
    const height = Math.max(measure(name, named), measure(value, style)) + 2 * padding;
    reserve(height);
    const top = pdf.y;
    const row = pdf.struct("TR");
    table.add(row);
    const head = pdf.struct("TH", { scope: "Row" });
    row.add(head);
    head.add(() => write(name, named, top + padding));
    head.end();
    const cell = pdf.struct("TD");
    row.add(cell);
    cell.add(() => write(value, style, top + padding));
    cell.end();
    row.end();
    pdf.y = top + height;
    decorate(() =>
      pdf
        .moveTo(margin, pdf.y)
        .lineTo(margin + width, pdf.y)
        .lineWidth(0.5)
        .stroke(line),
    );
  }
  table.end();
}

function writeBlock(writer: Writer, parent: Structure, block: PdfBlock): void {
  const { pdf, reserve, measure, width } = writer;
  switch (block.kind) {
    case "heading":
      pdf.y += 10;
      reserve(60);
      writeElement(writer, parent, "H2", block.text, { weight: "bold", size: 13 });
      break;
    case "text":
      writeElement(writer, parent, "P", block.text, {});
      break;
    case "list": {
      const list = pdf.struct("L");
      parent.add(list);
      for (const item of block.items) {
        reserve(measure(item, { width: width - 12 }));
        const entry = pdf.struct("LI");
        list.add(entry);
        writeElement(writer, entry, "LBody", `• ${item}`, { x: margin + 6, width: width - 12 });
        entry.end();
      }
      list.end();
      break;
    }
    case "facts":
      writeFacts(writer, parent, block);
      break;
    case "table":
      writeTable(writer, parent, block);
      break;
  }
  pdf.y += 6;
}

/** "Page 3 of 12", which readers skip. */
function numberPages({ pdf, write, bottom }: Writer): void {
  const { start, count } = pdf.bufferedPageRange();
  for (let page = start; page < start + count; page += 1) {
    pdf.switchToPage(page);
    pdf.markContent("Artifact", { type: "Pagination", subtype: "Footer" });
    write(`Page ${page + 1} of ${count}`, { size: 8, color: muted, align: "right" }, bottom + 6);
    pdf.endMarkedContent();
  }
}

export async function renderPdf(Kit: PdfKit, fonts: PdfFonts, document: PdfDocument): Promise<Uint8Array> {
  const writer = createWriter(Kit, fonts, document);
  const { pdf } = writer;
  const chunks: Uint8Array[] = [];
  const ended = new Promise<void>((resolve) => {
    pdf.on("data", (chunk) => chunks.push(chunk)).on("end", resolve);
  });
  const root = pdf.struct("Document");
  pdf.addStructure(root);
  writeHead(writer, root, document.title);
  for (const block of document.blocks) writeBlock(writer, root, block);
  root.end();
  numberPages(writer);
  pdf.end();
  await ended;
  const bytes = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
