// Values in every field of every operation, one field at a time.
// It must not choose the values.
import assert from 'node:assert/strict';
import type { Answer } from '../../client.ts';
import type { Entry } from '../../conformance/requests.ts';
import type { Hooks } from '../../harness.ts';
import type { Tally } from '../scenario.ts';
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

/** The raw JSON values for a field, by the caller and the number of the field. */
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
    return sendAll(target, tally, who, entry, aimed);
  });
}

/** What may not come back; a request id does by intent. */
export const textOf = (field: Field, json: string): string | undefined => {
  const value: unknown = JSON.parse(json);
  return field.name === 'x-request-id' || typeof value !== 'string' ? undefined : value;
};

/** What is no text is no value of any field, whatever the field would make of it. */
function assertTextRefused(field: Field, who: Who, json: string, { status, body }: Answer): void {
  const text = textOf(field, json);
  if (field.in !== 'body' || who !== 'a superuser' || text === undefined) return;
  const isText = text.isWellFormed() && !text.includes('\0');
  const tooLarge = status === 413;
  assert.ok(
    isText ? body?.code !== 'invalid_text' : tooLarge || body?.code === 'invalid_text',
    `HARDENING_SEED=${seed}: ${field.entry.name}, ${field.name}: ${status} ${body?.code} to ${json.slice(0, 200)}`,
  );
}

/** So many of these for one field, others for the next one: together the fields get all. */
export function spread(all: readonly string[], count: number, number: number): string[] {
  const step = Math.min(count, all.length);
  return Array.from({ length: step }, (_, index) => all[(number * step + index) % all.length] as string);
}

export const asJson = (texts: readonly string[]): string[] => texts.map((text) => JSON.stringify(text));
