#!/bin/sh
# React 19.2.0 and react-dom 19.2.0 (npm) in Chromium 156 (Debian's, its headless shell too, or $CHROMIUM): scrollIntoView returns
# a promise there (CSSOM View, "scroll methods return promises"); it returned undefined before. An effect written as one
# expression, useEffect(() => element.scrollIntoView()), hands that promise to React as its cleanup, and the next run of the
# effect, or its unmount, throws "destroy is not a function" (minified: "n is not a function") and the whole tree is gone.
# With braces around the call nothing happens.
# Output:  returns: Promise   expression: the tree is gone   braces: the tree is there
# Exits with 1 if that is no longer so; needs Chromium of that version or newer.
set -eu
browser=${CHROMIUM:-$(command -v chromium || command -v chromium-headless-shell)}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error react@19.2.0 react-dom@19.2.0 esbuild@0.25.10 playwright-core@1.56.0 >/dev/null
cat > page.jsx <<'S'
import { useEffect, useRef, useState } from "react";
import { createRoot } from "react-dom/client";
function Part({ step, braces }) {
  const place = useRef(null);
  useEffect(braces ? () => { place.current.scrollIntoView(); } : () => place.current.scrollIntoView(), [step]);
  return <p ref={place}>here</p>;
}
function Page({ braces }) {
  const [step, setStep] = useState(0);
  useEffect(() => void setTimeout(() => setStep(1), 50), []);
  return <Part step={step} braces={braces} />;
}
for (const id of ["expression", "braces"]) createRoot(document.getElementById(id)).render(<Page braces={id === "braces"} />);
S
node node_modules/esbuild/bin/esbuild page.jsx --bundle --jsx=automatic --minify --outfile=page.js --log-level=error
cat > run.mjs <<'S'
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";
const browser = await chromium.launch({ executablePath: process.argv[2], args: ["--no-sandbox"] });
const page = await browser.newPage();
await page.setContent('<div id="expression"></div><div id="braces"></div>');
await page.addScriptTag({ content: readFileSync("page.js", "utf8") });
await page.waitForTimeout(1000);
const returns = await page.evaluate(() => String(document.body.scrollIntoView()).includes("Promise") ? "Promise" : "undefined");
const isThere = (id) => page.evaluate((id) => document.getElementById(id).childElementCount > 0 ? "there" : "gone", id);
console.log(`returns: ${returns}   expression: the tree is ${await isThere("expression")}   braces: the tree is ${await isThere("braces")}`);
await browser.close();
S
found=$(node run.mjs "$browser")
echo "$found"
[ "$found" = "returns: Promise   expression: the tree is gone   braces: the tree is there" ]
