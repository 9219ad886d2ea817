// Signing keys, and the database as a whole: audit actions, and what their entries hold in `details`.
// It must not declare a secret, a token or a link.
import type { AuditActionEntry } from './entry.ts';
import { count, flag, nullable, optional, text, texts, time, via } from './members.ts';

export const installationActions = {
  signing_key_rotated: {
    about: ['signing_key'],
    text: 'A new signing key was created.',
    details: {
      alg: optional(text),
      purpose: optional(text),
      signs_from: time,
      dropped: optional(texts),
      via,
    },
  },
  signing_key_revoked: {
    about: ['signing_key'],
    text: 'A signing key was revoked, with every token that it signed. details.successor: the new key, if one was created.',
    details: { successor: nullable(text), via },
  },
  signing_keys_reset: {
    about: ['signing_key'],
    text: 'Every signing key was revoked and a new one was created. details.revoked: their ids.',
    details: { revoked: texts, via },
  },
  audit_log_forked: {
    about: ['audit_log'],
    text: 'The sealed audit log goes on in a new log, because the database lacks what an instance had seen of the last one. details.reason: restored, other_history or key_lost; continues: the origin of that log; size: its seals in the database; known_size: the most that an instance had seen.',
    failure: true,
    details: { reason: text, continues: text, size: count, known_size: count },
  },
  audit_key_rotated: {
    about: ['audit_log'],
    text: 'A new key signs the heads of the audit log. details: old_key, new_key: their ids.',
    details: { old_key: text, new_key: text, via },
  },
  database_restored: {
    about: ['database'],
    text: 'The database was restored from a backup. Entries between details.backup_time and this one are lost.',
    details: { backup_time: time, sessions_ended: flag, api_keys_revoked: flag, via },
  },
} as const satisfies Record<string, AuditActionEntry>;
