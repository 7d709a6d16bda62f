/** Guarantee: the landing page of a service without World ID promises none. */
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { goldenExample } from "./example-receipt";
import { Home } from "./home";

const render = (proof: "World ID" | "passkeys") =>
  renderToStaticMarkup(<Home base="https://one.example" example={goldenExample} proof={proof} demo={null} />);

it("names what people approve with on this instance", () => {
  expect(render("World ID")).toContain("A person approves with World ID, or denies.");
  expect(render("World ID")).toContain("approved it, World ID proves that too.");
  expect(render("passkeys")).toContain("A person approves with a passkey, or denies.");
  expect(render("passkeys")).toContain("Three grades of human approval");
  expect(render("passkeys")).not.toContain("Proven by World ID");
  expect(render("passkeys")).toContain("approved it, their passkey proves that too.");
});

it("shows the approval page and the portal with or without a demo, whose first button makes a request", () => {
  const withDemo = renderToStaticMarkup(
    <Home base="https://one.example" example={goldenExample} proof="World ID" demo={{}} />,
  );
  for (const html of [render("passkeys"), withDemo]) {
    // A warning about a detail that is in sight would be out of place in a picture.
    expect(html).not.toContain("You haven&#x27;t seen everything yet");
    expect(html).toContain("the page names it before it lets them approve");
    expect(html).toContain("Standing approval: use 43 of 500");
  }
  expect(withDemo).toMatch(/<form action="\/demo" method="post"><button[^>]*>Approve a test payment/);
  expect(render("passkeys")).not.toContain("/demo");
});
