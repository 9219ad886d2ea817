// Replaces the personal data in an audit entry: which members it is, the catalogue of actions says.
// It must not decide whose data it is.
import { whoseMember } from '@castellan/contract/personal-members';
import { isObject } from '../../../platform/unknown-values.ts';

/** Whose data to replace: of the sender of the request, of the person whom the entry is about, or of both. */
export type Whose = {
  sender: boolean;
  subject: boolean;
  /** Further members. */
  also?: readonly string[];
};

type Details = Readonly<Record<string, unknown>>;
type Entry = { action: string; details: Details };

/** Returns the details with `text` in the place of personal data; the same object if there is none. */
export function replacePersonal(
  { action, details }: Entry,
  { sender, subject, also = [] }: Whose,
  text: string,
): Details {
  const isReplaced = (name: string): boolean => {
    const whose = whoseMember(action, name);
    return also.includes(name) || (sender && whose === 'sender') || (subject && whose === 'subject');
  };
  return replaced(details, isReplaced, text);
}

function replaced(record: Details, isReplaced: (name: string) => boolean, text: string): Details {
  const changes: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(record)) {
    if (isReplaced(name)) {
      if (value !== null && value !== '' && value !== text) changes[name] = text;
    } else if ((name === 'before' || name === 'after') && isObject(value)) {
      const inner = replaced({ ...value }, isReplaced, text);
      if (Object.keys(inner).some((member) => inner[member] !== Reflect.get(value, member)))
        changes[name] = inner;
    }
  }
  return Object.keys(changes).length === 0 ? record : { ...record, ...changes };
}
