/** The JSON that a stand-in is sent; undefined if there is none, or too much. */
export async function readJson(request: Request, maxLength: number): Promise<unknown> {
  const text = await request.text();
  if (text.length > maxLength) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
