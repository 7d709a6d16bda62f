/** The anchor of a heading: lower case, hyphens for spaces; underscores stay, so an error code is its own anchor. */
export function headingId(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9_\s-]/g, "")
    .trim()
    .replace(/\s+/g, "-");
}

interface Section {
  level: number;
  title: string;
  text: string;
}

/** The parts of a Markdown text by its headings; a line of code that begins with `#` is none. */
export function cutSections(markdown: string): Section[] {
  const sections: Section[] = [];
  let isCode = false;
  for (const line of markdown.split("\n")) {
    if (line.startsWith("```")) isCode = !isCode;
    const [, marks = "", title = ""] = (isCode ? null : /^(#{1,3}) (.+)$/.exec(line)) ?? [];
    const last = sections.at(-1);
    if (title !== "") sections.push({ level: marks.length, title, text: "" });
    else if (last !== undefined) last.text += ` ${line}`;
  }
  return sections;
}
