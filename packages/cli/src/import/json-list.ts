// Reads the objects of a list in a JSON file one after the other, so that a file of gigabytes needs no memory for all.
// It must not put the text of an object in a fault, because it may hold a password hash.
import type { SourceRow } from '@castellan/server/modules/transfer/service';
import { parsed } from './rows.ts';

// A realm of Keycloak has large objects besides its users, but they are not collected.
const MAX_OBJECT = 1_000_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const isOpening = (code: number): boolean => code === 0x7b || code === 0x5b;
const isClosing = (code: number): boolean => code === 0x7d || code === 0x5d;

/**
 * Yields the objects of the list that is the whole file, or that the top-level object has under `key`. Several such
 * documents may follow each other. Throws an Error if the file ends within a value or has no such list.
 */
export async function* readJsonList(texts: AsyncIterable<string>, key: string): AsyncGenerator<SourceRow> {
  const scanner = createScanner(key);
  let row = 0;
  for await (const text of texts)
    for (const object of scanner.push(text)) {
      row += 1;
      yield parsed(row, object);
    }
  if (scanner.isOpen())
    throw new Error('the file ends in the middle of a value. It is cut off: export it again.');
  if (!scanner.hasList())
    throw new Error(`the file is no list and has none under "${key}". Is it of another --type or --format?`);
}

function createScanner(key: string) {
  // The list of each open bracket: '[' or '{'.
  const open: string[] = [];
  let inText = false;
  let isEscaped = false;
  /** The latest text at the top level of an object, which is a key if a colon follows it. */
  let text = '';
  let isCollectingText = false;
  let latestKey = '';
  /** Parts of the object that is read; null between objects. */
  let parts: string[] | null = null;
  let size = 0;

  /** The depth of the objects in the wanted list; 0 if no wanted list is open. */
  let objectDepth = 0;
  let hasList = false;

  function* push(chunk: string): Generator<string> {
    let start = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const code = chunk.charCodeAt(at);
      if (inText) {
        if (isEscaped) isEscaped = false;
        else if (code === BACKSLASH) isEscaped = true;
        else if (code === QUOTE) {
          inText = false;
          if (isCollectingText) latestKey = text;
          isCollectingText = false;
        }
        if (isCollectingText && text.length <= key.length) text += chunk[at];
      } else if (code === QUOTE) {
        inText = true;
        isCollectingText = open.length === 1 && open[0] === '{';
        text = '';
      } else if (isOpening(code)) {
        const bracket = chunk[at] ?? '';
        const isWantedList =
          bracket === '[' &&
          objectDepth === 0 &&
          (open.length === 0 || (open.length === 1 && open[0] === '{' && latestKey === key));
        open.push(bracket);
        if (isWantedList) {
          objectDepth = open.length + 1;
          hasList = true;
        } else if (open.length === objectDepth && parts === null) {
          parts = [];
          size = 0;
          start = at;
        }
      } else if (isClosing(code)) {
        open.pop();
        if (parts !== null && open.length === objectDepth - 1) {
          parts.push(chunk.slice(start, at + 1));
          yield parts.join('');
          parts = null;
        } else if (open.length === objectDepth - 2) objectDepth = 0;
      }
    }
    if (parts === null) return;
    parts.push(chunk.slice(start));
    size += chunk.length - start;
    if (size > MAX_OBJECT)
      throw new Error(
        `the file has an object of more than ${MAX_OBJECT} characters: it is not a list of users. Choose another --type.`,
      );
  }

  return { push, isOpen: () => inText || open.length > 0, hasList: () => hasList };
}
