// Reads an export of the service as it streams in.

/**
 * In the query of an export: its CSV begins with a byte order mark, without which spreadsheets misread UTF-8. NDJSON has none. The
 * service sends it on request only, because programs would read it as text.
 */
export const withMark = { bom: true } as const;

/** Reads the response to its end and reports how many bytes have arrived. Rejects if it breaks off. */
export async function readStream(response: Response, onProgress?: (bytes: number) => void): Promise<Blob> {
  const parts: BlobPart[] = [];
  let bytes = 0;
  for (const reader = response.body?.getReader(); reader; ) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    bytes += value.byteLength;
    onProgress?.(bytes);
  }
  const type = response.headers.get('content-type') ?? 'application/octet-stream';
  return new Blob(parts, { type });
}
