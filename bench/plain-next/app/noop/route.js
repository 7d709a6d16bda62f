export async function POST(request) {
  await request.json();
  return Response.json({ ok: true }, { status: 201 });
}
