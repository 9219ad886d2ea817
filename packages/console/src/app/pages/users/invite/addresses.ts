// Reads pasted addresses: one a line, alone or behind a name.
// It must not judge them: the service says what an address is.

export type InvitedRow = {
  /** From 1. */
  line: number;
  text: string;
  email: string;
  first_name?: string;
  last_name?: string;
};

/** Of one request. */
export const MAX_INVITED = 500;

const withName = /^(?<name>[^<>]*)<(?<email>[^<>]*)>\s*[,;]?$/;

/** Returns a row for each line with a text. */
export function readAddresses(text: string): InvitedRow[] {
  return text.split(/\r\n|\r|\n/).flatMap((given, index) => {
    const line = given.trim();
    return line === '' ? [] : [{ line: index + 1, text: line, ...readLine(line) }];
  });
}

function readLine(line: string): Pick<InvitedRow, 'email' | 'first_name' | 'last_name'> {
  const { name, email } = withName.exec(line)?.groups ?? {};
  if (email === undefined) return { email: line.replace(/[,;]$/, '').trim() };
  return { email: email.trim(), ...namesIn(name ?? '') };
}

/** Mail programs quote names, and some write the last name first: `"Lovelace, Ada" <ada@example.com>`. */
function namesIn(given: string): Pick<InvitedRow, 'first_name' | 'last_name'> {
  const name = given
    .trim()
    .replace(/^"(.*)"$/, '$1')
    .trim();
  if (name === '') return {};
  const [last = '', first = ''] = name.split(/\s*,\s*/, 2);
  if (first !== '') return { first_name: first, last_name: last };
  const at = name.lastIndexOf(' ');
  if (at < 0) return { first_name: name };
  return { first_name: name.slice(0, at).trim(), last_name: name.slice(at + 1) };
}
