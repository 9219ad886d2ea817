// Reads the changes of the feed: which kept answers they concern.
// It must take everything that it does not know for a change of everything.
import { isRecord, isText, isTexts } from '../json.ts';

export type Effect = {
  /** Drops everything. */
  isAll: boolean;
  /** Roles or permissions changed: drops every decision. */
  isGraph: boolean;
  /** A permission changed, which no role names: drops every identity. */
  isEveryIdentity: boolean;
  /** Of sessions, tokens, users and service accounts. */
  ids: Set<string>;
  /** Of roles and signing keys. */
  sharedIds: Set<string>;
};

const noEffect = (): Effect => ({
  isAll: false,
  isGraph: false,
  isEveryIdentity: false,
  ids: new Set(),
  sharedIds: new Set(),
});

export const everything = (): Effect => ({ ...noEffect(), isAll: true });

const subjects: readonly unknown[] = ['session', 'token', 'user', 'service_account'];

/** Returns what the changes of one message concern. */
export function effectOf(changes: unknown): Effect {
  if (!Array.isArray(changes)) return everything();
  const effect = noEffect();
  for (const change of changes) {
    if (!isRecord(change)) return everything();
    const { type, id, role_ids, permission_ids } = change;
    if (type === 'graph') {
      effect.isGraph = true;
      if (isTexts(role_ids) && isTexts(permission_ids) && permission_ids.length === 0)
        for (const role of role_ids) effect.sharedIds.add(role);
      else effect.isEveryIdentity = true;
    } else if (isText(id) && subjects.includes(type)) effect.ids.add(id);
    else if (isText(id) && type === 'signing_key') effect.sharedIds.add(id);
    else return everything();
  }
  return effect;
}
