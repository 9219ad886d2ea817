// Which members of `details` are personal data, and whose: an erasure replaces them, events and seals take them apart.
// It must not decide who may read them.
import type { TSchema } from 'typebox';
import { commonMembers, leftOutMembers, type Members, PERSONAL, type Whose } from '../audit/members.ts';
import { type EventType, eventEntry, eventTypes } from './catalogue.ts';

export { ERASED, type Whose } from '../audit/members.ts';

type Details = Readonly<Record<string, unknown>>;
/** By name, on whichever level. Null: not personal. */
type Marks = ReadonlyMap<string, Whose | null>;

/** The members that hold a record whose members are judged one by one. */
const records: ReadonlySet<string> = new Set(['before', 'after']);

const markOf = (schema: TSchema): Whose | null => {
  const mark: unknown = Reflect.get(schema, PERSONAL);
  return mark === 'sender' || mark === 'subject' ? mark : null;
};

const membersIn = (schema: TSchema): Members => {
  const properties: unknown = Reflect.get(schema, 'properties');
  return typeof properties === 'object' && properties !== null ? { ...properties } : {};
};

/** Returns every member with its mark, those of records too. */
export const marksIn = (members: Members): [name: string, mark: Whose | null][] =>
  Object.entries(members).flatMap(([name, schema]): [string, Whose | null][] => [
    [name, markOf(schema)],
    ...(records.has(name) ? marksIn(membersIn(schema)) : []),
  ]);

const marks: ReadonlyMap<string, Marks> = new Map(
  eventTypes.map((type) => [
    type,
    new Map(marksIn({ ...commonMembers, ...leftOutMembers, ...eventEntry(type).details })),
  ]),
);

/** Names that any type declares as personal. */
const personalAnywhere: Marks = new Map(
  [...marks.values()].flatMap((ofType) => [...ofType].filter(([, mark]) => mark !== null)),
);

/**
 * Returns whose data a member of an entry is; null if it is not personal. Entries of other releases have members, and types, that this one
 * does not declare: there, what any type declares as personal counts.
 */
export function whoseMember(type: string, name: string): Whose | null {
  const declared = marks.get(type)?.get(name);
  return declared === undefined ? (personalAnywhere.get(name) ?? null) : declared;
}

/** Returns the members of a type that `splitDetails` leaves open, by name. */
export const openMembersOf = (type: EventType): string[] =>
  [...(marks.get(type) ?? [])].flatMap(([name, mark]) => (mark === null ? [name] : [])).sort();

/**
 * Takes the personal members apart, those of `before` and `after` too: `{ after: { email, verified } }` becomes `open` with
 * `after.verified` and `personal` with `after.email`. What the type does not declare counts as personal. Both are new objects, and
 * the same details always give the same ones: a member never changes sides within a version (members.snapshot).
 */
export function splitDetails(type: string, details: Details): { open: Details; personal: Details } {
  const declared = marks.get(type);
  const split = (record: Details): { open: Details; personal: Details } => {
    const open: [string, unknown][] = [];
    const personal: [string, unknown][] = [];
    for (const [name, value] of Object.entries(record)) {
      const isOpen = declared?.get(name) === null;
      if (isOpen && records.has(name) && isRecord(value)) {
        const inner = split(value);
        open.push([name, inner.open]);
        if (Object.keys(inner.personal).length > 0) personal.push([name, inner.personal]);
      } else (isOpen ? open : personal).push([name, value]);
    }
    return { open: Object.fromEntries(open), personal: Object.fromEntries(personal) };
  };
  return split(details);
}

const isRecord = (value: unknown): value is Details =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
