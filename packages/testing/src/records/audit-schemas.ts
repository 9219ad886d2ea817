// Compares the entries that tests leave in the audit log with what the catalogue declares, so that the schemas of events are true.
// Tests do not call it: the harness does, and a difference fails the test file.
import { aboutOf, type EventType, entryDetails, isEventType } from '@castellan/contract/events';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { unlessGone } from '../secret-watch.ts';

export type WrittenEntry = { action: string; resource_type: string; details: unknown };

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/** Returns the schema with every object closed that names its members, so that a member that nobody declared is found. */
function closed(schema: TSchema): TSchema {
  if (Array.isArray(schema)) return schema.map(closed);
  if (!isObject(schema)) return schema;
  const inner = Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, isObject(value) ? closed(value) : value]),
  );
  return schema.type === 'object' && isObject(schema.properties) && !('additionalProperties' in schema)
    ? { ...inner, additionalProperties: false }
    : inner;
}

const compiled = new Map<EventType, ReturnType<typeof Compile<TSchema>>>();
function validatorOf(type: EventType): ReturnType<typeof Compile<TSchema>> {
  const known = compiled.get(type) ?? Compile(closed(entryDetails(type)));
  compiled.set(type, known);
  return known;
}

/**
 * Returns what the entry has and its action does not declare, or lacks; null if it fits. The message repeats no value. An action that
 * is not in the catalogue is none that the service writes.
 */
export function differenceOf({ action, resource_type: resource, details }: WrittenEntry): string | null {
  if (!isEventType(action)) return null;
  if (!aboutOf(action).some((type) => type === resource))
    return `${action} is about a record of the type ${resource}, which it does not name in \`about\``;
  const validator = validatorOf(action);
  if (validator.Check(details)) return null;
  const [error] = validator.Errors(details);
  return `details of ${action}${error?.instancePath ?? ''} ${error?.message ?? 'do not fit'}${JSON.stringify(error?.params ?? {})}`;
}

// More than any test writes by itself.
const MAX_ENTRIES = 20_000;

/** Compares the entries that a service leaves behind. Throws at the first that does not fit. */
export async function watchEntries(sql: (text: string) => Promise<WrittenEntry[]>): Promise<void> {
  // Those that tests insert have random ids: the service writes UUIDv7.
  const entries = await unlessGone(() =>
    sql(
      `select action, resource_type, details from audit_logs where substr(id::text, 15, 1) = '7' limit ${MAX_ENTRIES}`,
    ),
  );
  for (const entry of entries ?? []) {
    const difference = differenceOf(entry);
    if (difference !== null)
      throw new Error(`${difference}: declare it in packages/contract/src/audit, or mend what writes it`);
  }
}
