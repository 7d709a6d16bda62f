/** Our own guides, from Markdown to elements on the server. Never for text that an agent supplied. */
import type { ComponentProps, ReactElement, ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { cutSections, headingId } from "./heading-id";
import { Syntax } from "./syntax";
import { CodeBlock } from "./ui/code-block";
import { TextLink } from "./ui/text-link";

function plainText(node: ReactNode): string {
  if (typeof node === "string" || typeof node === "number") return String(node);
  if (Array.isArray(node)) return node.map(plainText).join("");
  if (node && typeof node === "object" && "props" in node)
    return plainText((node as ReactElement<{ children?: ReactNode }>).props.children);
  return "";
}

function heading(Tag: "h2" | "h3") {
  return function Heading({ children }: ComponentProps<"h2">) {
    const text = plainText(children);
    const id = headingId(text);
    return (
      <Tag id={id} className="group">
        {children}
        <a
          href={`#${id}`}
          aria-label={`Link to “${text}”`}
          className="no-print ml-2 text-muted no-underline opacity-0 focus-visible:opacity-100 group-hover:opacity-100"
        >
          #
        </a>
      </Tag>
    );
  };
}

const languageNames: Record<string, string> = {
  sh: "Shell",
  json: "JSON",
  text: "Text",
  html: "HTML",
  ts: "TypeScript",
  js: "JavaScript",
  python: "Python",
  cedar: "Cedar",
};

const components: Components = {
  h2: heading("h2"),
  h3: heading("h3"),
  a: ({ href, children }) => <TextLink href={href ?? ""}>{children}</TextLink>,
  pre: ({ children }) => {
    const code = plainText(children).replace(/\n$/, "");
    const props = (children as ReactElement<{ className?: string }>).props;
    const language = props.className?.replace("language-", "") ?? "text";
    return (
      <CodeBlock
        code={code}
        label={languageNames[language] ?? language}
        coloured={<Syntax code={code} language={language} />}
      />
    );
  },
  table: ({ children }) => (
    // biome-ignore lint/a11y/useSemanticElements: a section would be a landmark, and a page has many of these
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <div role="group" aria-label="Table" tabIndex={0} className="overflow-x-auto">
      <table>{children}</table>
    </div>
  ),
};

export function Markdown({ text }: { readonly text: string }) {
  return (
    <div className="prose">
      <ReactMarkdown remarkPlugins={[remarkGfm]} components={components}>
        {text}
      </ReactMarkdown>
    </div>
  );
}

/** Headings of the same text: beside it where there is room, else folded above it. */
export function OnThisPage({ text }: { readonly text: string }) {
  const headings = cutSections(text).filter(({ level }) => level === 2);
  if (headings.length < 2) return null;
  const list = (
    <ul className="border-line border-l [&_a:hover]:text-ink [&_a]:flex [&_a]:min-h-8 [&_a]:items-center [&_a]:pl-3 [&_a]:text-muted">
      {headings.map(({ title }) => (
        <li key={title}>
          <a href={`#${headingId(title)}`}>{title.replaceAll("`", "")}</a>
        </li>
      ))}
    </ul>
  );
  return (
    <>
      <nav
        aria-label="On this page"
        className="no-print hidden text-sm xl:sticky xl:top-8 xl:order-2 xl:block xl:max-h-[calc(100dvh-4rem)] xl:self-start xl:overflow-y-auto"
      >
        <p className="mb-1.5 font-medium">On this page</p>
        {list}
      </nav>
      <details className="no-print mb-6 rounded-md border border-line bg-surface xl:hidden">
        <summary className="min-h-11 px-4 py-2.5 font-medium text-[15px]">On this page</summary>
        <nav aria-label="On this page" className="px-4 pb-3 text-sm">
          {list}
        </nav>
      </details>
    </>
  );
}
