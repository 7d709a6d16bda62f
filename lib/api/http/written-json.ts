/** JSON that was written before, in ASCII: for what stays the same for a while and is asked for often. */
export class WrittenJson {
  /** One byte a character. */
  readonly text: string;

  private constructor(text: string) {
    this.text = text;
  }

  static of(value: unknown): WrittenJson {
    const text = JSON.stringify(value).replaceAll(
      /[\u0080-\uffff]/g,
      (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
    // The replacement made it two bytes a character.
    return new WrittenJson(Buffer.from(text, "latin1").toString("latin1"));
  }

  /** An object of which some lists were written before. */
  static object(members: Record<string, unknown>): WrittenJson {
    const isWritten = (value: unknown) => Array.isArray(value) && value[0] instanceof WrittenJson;
    const write = (value: unknown) =>
      isWritten(value)
        ? `[${(value as WrittenJson[]).map(({ text }) => text).join(",")}]`
        : WrittenJson.of(value).text;
    const written = Object.entries(members).map(([name, value]) => `${JSON.stringify(name)}:${write(value)}`);
    return new WrittenJson(`{${written.join(",")}}`);
  }

  /** `text`: of another one. */
  static again(text: string): WrittenJson {
    return new WrittenJson(text);
  }
}
