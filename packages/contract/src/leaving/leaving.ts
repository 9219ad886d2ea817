// Schemas of leaving: the deletion of one's own account, its undoing, one's own data, and the erasure of an account.
import Type from 'typebox';
import { EffectivePermissions } from '../access/explanations.ts';
import { OwnApplication } from '../applications/grants.ts';
import { AttributeValues } from '../attributes/user-attributes.ts';
import { AuditLogEntry } from '../audit.ts';
import { Factors } from '../factors.ts';
import { PasswordInput, Timestamp, Uuid } from '../http/common.ts';
import { DataEnvelope } from '../http/envelope.ts';
import { Identity } from '../identity-providers/identities.ts';
import { PersonalToken } from '../personal-tokens/personal-tokens.ts';
import { Device, Session } from '../sessions.ts';
import { User } from '../users.ts';

/** The most days between the deletion of one's own account and its removal. */
export const MAX_SELF_DELETION_DAYS = 90;

export const DeleteMeBody = Type.Object(
  {
    current_password: Type.Optional(PasswordInput),
  },
  {
    title: 'DeleteMe',
    description:
      '`current_password` is required of an account with a password. An account without one, and one with a second factor, needs a fresh proof: `POST /auth/step-up`.',
  },
);
export type DeleteMeBody = Type.Static<typeof DeleteMeBody>;

export const DeletionPlannedEnvelope = DataEnvelope(
  Type.Object(
    { deletion_due_at: Timestamp },
    {
      title: 'DeletionPlanned',
      description:
        'The next clean-up after `deletion_due_at` removes the account. The link of the mail keeps it until then.',
    },
  ),
);

export const UndoDeletionBody = Type.Object({ token: Type.String() }, { title: 'UndoDeletion' });

/** The most entries of the audit log in an export of one's own data. */
export const MAX_OWN_ENTRIES = 10_000;

/** One's own data: a section for each kind of it. */
export const OwnData = Type.Object(
  {
    exported_at: Timestamp,
    user: User,
    attributes: AttributeValues,
    access: EffectivePermissions,
    sessions: Type.Array(Session, { description: 'Live ones, newest first.' }),
    devices: Type.Array(Device),
    factors: Type.Pick(Factors, ['totp', 'passkeys', 'recovery_codes']),
    identities: Type.Array(Identity),
    applications: Type.Array(OwnApplication),
    tokens: Type.Array(PersonalToken, { description: 'Without the tokens themselves.' }),
    audit_log: Type.Object(
      {
        entries: Type.Array(AuditLogEntry, {
          description: `What you did, and what was done to your account: the latest ${MAX_OWN_ENTRIES}. What it tells of other people is left out.`,
        }),
        truncated: Type.Boolean({ description: 'Whether there are older entries.' }),
      },
      { title: 'OwnEntries' },
    ),
  },
  { title: 'OwnData' },
);
export type OwnData = Type.Static<typeof OwnData>;
export const OwnDataEnvelope = DataEnvelope(OwnData);

export const ErasedEnvelope = DataEnvelope(
  Type.Object(
    {
      user_id: Uuid,
      roles: Type.Integer({ description: 'How many roles the account had.' }),
      sessions: Type.Integer({ description: 'How many live sessions ended.' }),
      audit_entries: Type.Integer({ description: 'Entries whose personal data was erased so far.' }),
      finished: Type.Boolean({
        description:
          'False while there may be more entries: the clean-up goes on. The entry `user_erased` has the final numbers.',
      }),
    },
    { title: 'Erased' },
  ),
);
