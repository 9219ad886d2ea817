// Sends values in every field of every operation, one field at a time.
// It must not choose the values.
import assert from 'node:assert/strict';
import type { Answer } from '@castellan/testing/client';
import type { Entry } from '@castellan/testing/conformance/requests';
import type { Hooks } from '@castellan/testing/harness';
import type { Tally } from '@castellan/testing/scenario';
import { attempt, type Field, fieldsOf } from './fields.ts';
import { sendAll, throughOperations } from './operations.ts';
import { openTarget, seed, type Target, type Who } from './target.ts';

export type Fields = { target: Target; fields: ReadonlyMap<Entry, readonly Field[]> };

export async function openFields(hooks: Hooks): Promise<Fields> {
  const target = await openTarget(hooks);
  return {
    target,
    fields: new Map(target.entries.map((entry) => [entry, fieldsOf(entry, target.document, seed)])),
  };
}

/** Returns the raw JSON values for a field, by the caller and the number of the field. */
export type Values = (field: Field, who: Who, number: number) => readonly string[];

export function inEveryField(
  { target, fields }: Fields,
  tally: Tally,
  callers: readonly Who[],
  values: Values,
): Promise<void> {
  let number = 0;
  return throughOperations(target, tally, callers, (who, entry, records) => {
    const aimed = (fields.get(entry) ?? []).flatMap((field) => {
      number += 1;
      return values(field, who, number).map((json, index) => ({
        shot: target.shotOf(entry, attempt(field, json, index, records)),
        refused: textOf(field, json),
        check: (answer: Answer) => assertTextRefused(field, who, json, answer),
      }));
    });
    return sendAll(target, tally, { who, entry }, aimed);
  });
}

/** Returns the text that a refusal must not repeat; undefined for a request id, which is repeated by design. */
export const textOf = (field: Field, json: string): string | undefined => {
  const value: unknown = JSON.parse(json);
  return field.name === 'x-request-id' || typeof value !== 'string' ? undefined : value;
};

/** Checks that ill-formed text is refused in every field of a body. */
function assertTextRefused(field: Field, who: Who, json: string, { status, body }: Answer): void {
  const text = textOf(field, json);
  if (field.in !== 'body' || who !== 'a superuser' || text === undefined) return;
  const isText = text.isWellFormed() && !text.includes('\0');
  // Before the body is read.
  const isRefusedBefore = status === 413 || body?.code === 'passkeys_unavailable';
  assert.ok(
    isText ? body?.code !== 'invalid_text' : isRefusedBefore || body?.code === 'invalid_text',
    `HARDENING_SEED=${seed}: ${field.entry.name}, ${field.name}: ${status} ${body?.code} to ${json.slice(0, 200)}`,
  );
}

export const asJson = (texts: readonly string[]): string[] => texts.map((text) => JSON.stringify(text));
