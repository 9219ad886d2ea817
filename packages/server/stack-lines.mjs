// Makes the stacks of errors in the bundled program name the sources. Node's own support reads all source maps when it loads
// the files, which takes half as long as loading them; this reads one when the first stack is asked for.
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';

/** By the URL of a file of the bundle; null if it has none. */
const maps = new Map();

function mapOf(url) {
  let map = maps.get(url);
  if (map === undefined) {
    try {
      map = new SourceMap(JSON.parse(readFileSync(new URL(`${url}.map`), 'utf8')));
    } catch {
      map = null;
    }
    maps.set(url, map);
  }
  return map;
}

/** Returns the line of a stack for a frame (V8's CallSite). */
function lineOf(frame, folder) {
  const text = String(frame);
  const url = frame.getFileName();
  if (!url?.startsWith(folder)) return text;
  const [line, column] = [frame.getLineNumber(), frame.getColumnNumber()];
  const entry = mapOf(url)?.findEntry(line - 1, column - 1);
  if (entry?.originalSource === undefined) return text;
  const source = new URL(entry.originalSource, url).href;
  return text.replace(
    `${url}:${line}:${column}`,
    () => `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`,
  );
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
