// Replaces the personal data in an audit entry: which members it is, the catalogue of actions says.
// It must not decide whose data it is.
import { membersOfSender, personalMembers } from '@castellan/contract/audit-members';
import { isObject } from '../../../platform/unknown-values.ts';

const ofSender: ReadonlySet<string> = new Set(membersOfSender);

/** Whose data to replace: of the sender of the request, of the person whom the entry is about, or of both. */
export type Whose = {
  sender: boolean;
  subject: boolean;
  /** Further members. */
  also?: readonly string[];
};

type Entry = { action: string; details: Readonly<Record<string, unknown>> };

/** Entries of a later release have actions that this one does not know: all that any action declares counts. */
const everyMember: readonly string[] = [...new Set(Object.values(personalMembers).flat())];
const membersOf = (action: string): readonly string[] =>
  Object.entries(personalMembers).find(([name]) => name === action)?.[1] ?? everyMember;

/** Returns the details with `text` in the place of personal data; the same object if there is none. */
export function replacePersonal(
  { action, details }: Entry,
  { sender, subject, also = [] }: Whose,
  text: string,
): Readonly<Record<string, unknown>> {
  const members = new Set<string>([...(sender ? ofSender : []), ...also]);
  if (subject) for (const name of membersOf(action)) if (!ofSender.has(name)) members.add(name);
  return replaced(details, members, text);
}

function replaced(
  record: Readonly<Record<string, unknown>>,
  members: ReadonlySet<string>,
  text: string,
): Readonly<Record<string, unknown>> {
  const changes: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(record)) {
    if (members.has(name)) {
      if (value !== null && value !== '' && value !== text) changes[name] = text;
    } else if ((name === 'before' || name === 'after') && isObject(value)) {
      const inner = replaced({ ...value }, members, text);
      if (Object.keys(inner).some((member) => inner[member] !== Reflect.get(value, member)))
        changes[name] = inner;
    }
  }
  return Object.keys(changes).length === 0 ? record : { ...record, ...changes };
}
