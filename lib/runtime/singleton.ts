/** Where a process keeps its app (./app.ts), for those who ask whether there is one without loading it. */
export const appSymbol = Symbol.for("countersign.app");
