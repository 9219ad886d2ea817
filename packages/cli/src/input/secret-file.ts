// Reads a secret from a file, because arguments and environment variables can be read by others.
import { readFileSync, statSync } from 'node:fs';

// Far more than anybody's password or passphrase. A larger file is a mistake.
const MAX_BYTES = 4_096;

/** Returns the only line of a file. `what`: the secret, for messages about the option. */
export function readSecretLine(path: string, option: string, what: string): string {
  let text: string;
  try {
    const facts = statSync(path);
    if (!facts.isFile() || facts.size > MAX_BYTES) throw new Error('it is not a small file');
    text = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${option} cannot be used: ${reason}. Name a file with one ${what} in it.`);
  }
  if (text === '' || text.includes('\n'))
    throw new Error(`${option} must have exactly one line with the ${what}.`);
  return text;
}
