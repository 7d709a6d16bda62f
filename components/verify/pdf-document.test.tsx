/** PDFs that people download are tagged, so that a screen reader finds headings, rows and cells in them. */
import { readFileSync } from "node:fs";
import { inflateSync } from "node:zlib";
import {
  PDFArray,
  PDFDict,
  PDFDocument,
  PDFHexString,
  PDFName,
  PDFRawStream,
  PDFRef,
  PDFString,
} from "pdf-lib";
import Kit from "pdfkit";
import { describe, expect, it } from "vitest";
import { type PdfDocument, type PdfKit, renderPdf } from "./pdf-document";

const font = (subset: string, weight: number) =>
  readFileSync(`node_modules/@fontsource/geist/files/geist-${subset}-${weight}-normal.woff`);
const fonts = {
  regular: ["latin", "latin-ext", "cyrillic"].map((subset) => font(subset, 400)),
  bold: [font("latin", 600)],
};
const document: PdfDocument = {
  title: "Receipt",
  blocks: [
    { kind: "text", text: "Authentic record" },
    {
      kind: "facts",
      rows: [
        ["Amount", "12,000.50 EUR"],
        ["To", "Ćevapi d.o.o. Петров 漢\u202e"],
      ],
    },
    { kind: "heading", text: "Warnings" },
    { kind: "list", items: ["One", "Two"] },
    {
      kind: "table",
      columns: [
        { header: "Check", share: 2 },
        { header: "Sum", share: 1, isNumeric: true },
      ],
      rows: Array.from({ length: 60 }, (_, i) => [`row ${i}`, { value: String(i), currency: "EUR" }]),
    },
    { kind: "table", columns: [{ header: "None", share: 1 }], rows: [] },
  ],
};

type Tree = { tag: string; children: Tree[]; content: number; scope: string | null };

/** The structure as a reader walks it; `content`: how many pieces of a page's text an element has itself. */
function readTree(pdf: PDFDocument, element: PDFDict): Tree {
  const kids = element.lookup(PDFName.of("K"));
  const all = kids instanceof PDFArray ? kids.asArray() : kids === undefined ? [] : [kids];
  const dictionaries = all.flatMap((kid) => {
    const found = kid instanceof PDFRef ? pdf.context.lookup(kid) : kid;
    return found instanceof PDFDict && found.has(PDFName.of("S")) ? [found] : [];
  });
  const attributes = element.lookup(PDFName.of("A"));
  const first = attributes instanceof PDFArray ? attributes.lookup(0) : attributes;
  const scope = first instanceof PDFDict ? first.get(PDFName.of("Scope")) : undefined;
  return {
    tag: String(element.get(PDFName.of("S"))),
    children: dictionaries.map((child) => readTree(pdf, child)),
    content: all.length - dictionaries.length,
    scope: scope === undefined ? null : String(scope),
  };
}

const listAll = (tree: Tree): Tree[] => [tree, ...tree.children.flatMap(listAll)];

/** Operators of all pages. */
function readOperators(pdf: PDFDocument): string {
  const streams = pdf.getPages().flatMap((page) => {
    const contents = page.node.Contents();
    const all =
      contents instanceof PDFArray ? contents.asArray().map((ref) => pdf.context.lookup(ref)) : [contents];
    return all.flatMap((stream) =>
      stream instanceof PDFRawStream ? [inflateSync(stream.getContents())] : [],
    );
  });
  return Buffer.concat(streams).toString("latin1");
}

describe("a PDF", () => {
  it("is tagged, in a language, with a title, and every text is in its structure or marked as decoration", async () => {
    const bytes = await renderPdf(Kit as PdfKit, fonts, document);
    const pdf = await PDFDocument.load(bytes);
    const { catalog } = pdf;
    expect(String(catalog.lookup(PDFName.of("MarkInfo"), PDFDict).get(PDFName.of("Marked")))).toBe("true");
    expect(catalog.lookup(PDFName.of("Lang"), PDFString, PDFHexString).decodeText()).toBe("en");
    expect([pdf.getTitle(), pdf.getPageCount()]).toEqual(["Receipt", 2]);
    const root = catalog.lookup(PDFName.of("StructTreeRoot"), PDFDict);
    expect(root.has(PDFName.of("ParentTree"))).toBe(true);
    const all = listAll(readTree(pdf, root)).filter(({ tag }) => tag !== "undefined");
    const count = (tag: string, scope: string | null = null) =>
      all.filter((one) => one.tag === `/${tag}` && one.scope === scope).length;
    expect({
      document: count("Document"),
      headings: count("H1") + count("H2"),
      lists: [count("L"), count("LI"), count("LBody")],
      tables: [count("Table"), count("TR"), count("TD")],
      headers: [count("TH", "/Row"), count("TH", "/Column")],
    }).toEqual({ document: 1, headings: 2, lists: [1, 2, 2], tables: [2, 63, 122], headers: [2, 2] });
    const leaves = all.filter(({ tag }) => /^\/(?:P|H1|H2|LBody|TD|TH)$/.test(tag));
    expect(leaves.filter(({ content }) => content === 0)).toEqual([]);
    const operators = readOperators(pdf);
    // Nothing is drawn outside of marked content: the text between an end and the next beginning has no operator of text.
    const outside = operators.replaceAll(/\/\w+ (?:<<.*?>> )?BDC.*?EMC/gs, "");
    expect(operators).toContain("BDC");
    expect(outside).not.toMatch(/\bT[Jj]\b/);
  });
});
