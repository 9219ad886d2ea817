// Reads the fields of an identity provider from a file, and its secrets from files of their own.
// It must not check the fields: the service does, and names each wrong one.
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { InputOf } from '@castellan/sdk';
import { type Call, optionOf, UsageError } from '../../../command.ts';
import { readSecretLine } from '../../../input/secret-file.ts';

type Bodies = {
  POST: InputOf<'POST /api/v1/identity-providers'>['body'];
  PUT: InputOf<'PUT /api/v1/identity-providers/{provider_id}'>['body'];
};

/**
 * Returns the object in the file of --from, with the secrets of --secret-file and --private-key-file. Throws a UsageError
 * for a file that cannot be read or has no JSON object, and for a secret that is given twice.
 */
export async function providerFrom<M extends keyof Bodies>(call: Call): Promise<Bodies[M]> {
  const from = optionOf(call, 'from');
  if (from === undefined) throw new UsageError('give --from, a JSON file with the fields of the provider.');
  const fields = objectIn(await contentOf(from, '--from'));
  const secrets = {
    client_secret: secretIn(call),
    private_key: await keyIn(call),
  };
  for (const [name, value] of Object.entries(secrets)) {
    if (value === undefined) continue;
    if (name in fields) throw new UsageError(`${name} is in --from and in a separate file: give one.`);
    fields[name] = value;
  }
  return fields as unknown as Bodies[M];
}

async function contentOf(path: string, option: string): Promise<string> {
  try {
    return path === '-' ? await text(process.stdin) : await readFile(path, 'utf8');
  } catch (error) {
    throw new UsageError(`${option}: ${error instanceof Error ? error.message : String(error)}.`);
  }
}

function objectIn(json: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new UsageError('--from is not JSON. Nothing was changed.');
  }
  if (value instanceof Object && !Array.isArray(value)) return { ...value };
  throw new UsageError('--from must have one JSON object. Nothing was changed.');
}

function secretIn(call: Call): string | undefined {
  const path = optionOf(call, 'secret-file');
  if (path === undefined) return undefined;
  try {
    return readSecretLine(path, '--secret-file', 'secret');
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

const keyIn = async (call: Call): Promise<string | undefined> => {
  const path = optionOf(call, 'private-key-file');
  return path === undefined ? undefined : contentOf(path, '--private-key-file');
};
