// Makes the stacks of errors in the bundled program name the sources. Node's own support reads all source maps when it loads
// the files, which takes half as long as loading them, and a map in memory takes 58 MiB. This reads a table of lines, about
// a tenth of it, when the first stack is asked for.
import { readFileSync } from 'node:fs';

/**
 * What scripts/bundle/program.mjs writes beside each file of the bundle. Positions are `line * POSITION + column`, both from
 * 0, ascending; from each of them on, the code is of `sources[source]`, at that line from 0. So a file has at most 262,144
 * lines; columns beyond `POSITION` count as the last one.
 * @typedef {{ sources: string[], positions: Uint32Array, source: Uint16Array, line: Uint16Array }} Lines
 */
export const POSITION = 16_384;
export const linesFile = (file) => `${file}.lines`;

/** @returns {Buffer} what `parseLines` reads */
export function writeLines({ sources, positions, source, line }) {
  const header = Buffer.from(JSON.stringify(sources));
  const counts = Buffer.alloc(8);
  counts.writeUInt32LE(header.length, 0);
  counts.writeUInt32LE(positions.length, 4);
  const bytesOf = ({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength);
  return Buffer.concat([counts, bytesOf(positions), bytesOf(source), bytesOf(line), header]);
}

/** @returns {Lines} */
function parseLines(bytes) {
  const [headerLength, count] = [bytes.readUInt32LE(0), bytes.readUInt32LE(4)];
  // A copy, because typed arrays need an aligned beginning.
  const { buffer } = new Uint8Array(bytes);
  const positions = new Uint32Array(buffer, 8, count);
  const source = new Uint16Array(buffer, 8 + count * 4, count);
  const line = new Uint16Array(buffer, 8 + count * 6, count);
  const start = 8 + count * 8;
  return {
    sources: JSON.parse(bytes.toString('utf8', start, start + headerLength)),
    positions,
    source,
    line,
  };
}

/** By the URL of a file of the bundle; null if it has no table. */
const tables = new Map();

function tableOf(url) {
  let table = tables.get(url);
  if (table === undefined) {
    try {
      table = parseLines(readFileSync(new URL(linesFile(url))));
    } catch {
      table = null;
    }
    tables.set(url, table);
  }
  return table;
}

/** Returns `source:line` for a place in a bundled file, both from 1; undefined if the table has none. */
function sourceOf(url, line, column) {
  const table = tableOf(url);
  if (!table) return undefined;
  const wanted = (line - 1) * POSITION + Math.min(column - 1, POSITION - 1);
  let [low, high] = [0, table.positions.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (table.positions[middle] <= wanted) low = middle + 1;
    else high = middle;
  }
  if (low === 0) return undefined;
  const name = table.sources[table.source[low - 1]];
  return name && `${new URL(name, url).href}:${table.line[low - 1] + 1}`;
}

/** Returns the line of a stack for a frame (V8's CallSite). */
function lineOf(frame, folder) {
  const text = String(frame);
  const url = frame.getFileName();
  if (!url?.startsWith(folder)) return text;
  const [line, column] = [frame.getLineNumber(), frame.getColumnNumber()];
  const source = sourceOf(url, line, column);
  return source === undefined ? text : text.replace(`${url}:${line}:${column}`, () => source);
}

/** Names the sources in all stacks from now on. `program`: the URL of a file of the bundle. */
export function showSourceLines(program) {
  const folder = new URL('.', program).href;
  Error.prepareStackTrace = (error, frames) => {
    let title;
    try {
      // Errors of Node name their code in it.
      title = String(error);
    } catch {
      title = 'an error that cannot be shown';
    }
    return [title, ...frames.map((frame) => lineOf(frame, folder))].join('\n    at ');
  };
}
