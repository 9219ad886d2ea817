// Reads lines as NDJSON has them: each ends with a line feed. It must not end one elsewhere, as node:readline does at U+2028.
import { StringDecoder } from 'node:string_decoder';

/** Yields the lines without their ends. What is after the last line feed is a line, too, unless it is empty. */
export async function* linesOf(chunks: AsyncIterable<Buffer | string>): AsyncGenerator<string, void> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of chunks) {
    const lines = (rest + (typeof chunk === 'string' ? chunk : decoder.write(chunk))).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield withoutReturn(line);
  }
  rest += decoder.end();
  if (rest !== '') yield withoutReturn(rest);
}

const withoutReturn = (line: string): string => (line.endsWith('\r') ? line.slice(0, -1) : line);
