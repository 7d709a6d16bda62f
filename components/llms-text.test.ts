/** llms.txt and llms-full.txt are kept in step with the guides and the operations: they are made from the same lists. */
import { expect, it } from "vitest";
import { readDocument } from "./api-reference/document";
import { listEntries } from "./api-reference/entries";
import { writeOperation } from "./api-reference/operation-markdown";
import { guideEntries } from "./guides/guides-index";
import { writeLlmsFullText, writeLlmsText } from "./llms-text";

const base = "http://localhost:3000";
const document = readDocument(base);

it("llms.txt leads to every guide, every operation and the whole text", () => {
  const text = writeLlmsText(base, document);
  for (const { slug } of guideEntries) expect(text).toContain(`(${base}/docs/${slug}.md)`);
  for (const { slug } of listEntries(document)) expect(text).toContain(`(${base}/docs/api/${slug}.md)`);
  expect(text).toContain(`(${base}/llms-full.txt)`);
  expect(text.match(/^# /gm)).toHaveLength(1);
});

it("llms-full.txt holds the text of every guide and every operation", () => {
  const guides = ["# One guide\n", "# Another\n"];
  const text = writeLlmsFullText(base, document, guides);
  for (const guide of guides) expect(text).toContain(guide);
  for (const entry of listEntries(document)) expect(text).toContain(writeOperation(entry, document));
});
