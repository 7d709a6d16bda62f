/** CRC-32 as ZIP has it. Node has its own since 20.15; the programs that people download run on every Node 20. */
const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit += 1) rest = (rest >>> 1) ^ (rest & 1 ? 0xedb88320 : 0);
  return rest;
});

export function crc32(bytes: Uint8Array): number {
  let rest = 0xffffffff;
  for (let i = 0; i < bytes.length; i += 1)
    rest = (rest >>> 8) ^ (table[(rest ^ (bytes[i] ?? 0)) & 0xff] ?? 0);
  return (rest ^ 0xffffffff) >>> 0;
}
