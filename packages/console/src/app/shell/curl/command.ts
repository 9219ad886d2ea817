// Writes a request as a curl command for a POSIX shell.
// It must not contain a secret or anything that a shell would run: values are in single quotes, secrets are variables.
import { Secret, type SentRequest } from '../../../common/recent-requests.ts';

/** Text, or the name of a shell variable. */
type Piece = string | { variable: string };

/** Returns the text as one word of a shell, whatever it contains. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Returns such as `CURRENT_PASSWORD`. */
const variableOf = ({ field }: Secret): string =>
  field
    .replaceAll(/\W+/g, '_')
    .replace(/^(?=\d)/, '_')
    .toUpperCase();

function* piecesOf(value: unknown): Generator<Piece> {
  if (value instanceof Secret) {
    yield '"';
    yield { variable: variableOf(value) };
    yield '"';
  } else if (Array.isArray(value)) {
    for (const [at, one] of value.entries()) {
      yield at === 0 ? '[' : ',';
      yield* piecesOf(one);
    }
    yield value.length === 0 ? '[]' : ']';
  } else if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value);
    for (const [at, [name, one]] of entries.entries()) {
      yield `${at === 0 ? '{' : ','}${JSON.stringify(name)}:`;
      yield* piecesOf(one);
    }
    yield entries.length === 0 ? '{}' : '}';
  } else yield JSON.stringify(value);
}

/** Returns the pieces as one word. */
function wordOf(pieces: Iterable<Piece>): string {
  let word = '';
  let text = '';
  const flush = (): void => {
    if (text !== '') word += quoted(text);
    text = '';
  };
  for (const piece of pieces) {
    if (typeof piece === 'string') text += piece;
    else {
      flush();
      word += `"$${piece.variable}"`;
    }
  }
  flush();
  return word;
}

/** The token is in the variable CASTELLAN_TOKEN, other secrets in variables with the names of their fields. */
export function curlOf({ method, url, ifMatch, body }: SentRequest): string {
  return [
    // The brackets and braces of an address are no patterns.
    `curl --globoff ${method === 'GET' ? '' : `--request ${method} `}${quoted(url)}`,
    '--header "Authorization: Bearer $CASTELLAN_TOKEN"',
    ...(ifMatch === null ? [] : [`--header ${quoted(`If-Match: ${ifMatch}`)}`]),
    ...(body === undefined
      ? []
      : ["--header 'Content-Type: application/json'", `--data-raw ${wordOf(piecesOf(body))}`]),
  ].join(' \\\n  ');
}
