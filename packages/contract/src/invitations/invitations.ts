// Schemas of invitations: accounts whose owners have yet to choose a password by a mailed link.
import Type, { type TSchema } from 'typebox';
import { withOtherNames } from '../access/access-fields.ts';
import { NewAttributes } from '../attributes/user-attributes.ts';
import { recoveryCodes } from '../factors.ts';
import { FirstNameInput, LastNameInput, PasswordInput, UuidList } from '../http/common.ts';
import { DataEnvelope, FieldError } from '../http/envelope.ts';
import { PasskeyRegistration } from '../passkeys/passkeys.ts';
import { User } from '../users.ts';

/** The longest that the link of an invitation works: 30 days. */
export const MAX_INVITATION_HOURS = 720;
/** The most people whom one request invites. */
export const MAX_INVITED = 500;

/** Refused for one row of many with 400, so the schema accepts any text. */
const EmailOfRow = Type.String({ maxLength: 1_000, examples: ['ada@example.com'] });

const invitation = withOtherNames({
  email: EmailOfRow,
  first_name: Type.Optional(FirstNameInput),
  last_name: Type.Optional(LastNameInput),
  role_id: Type.Optional(UuidList),
  attributes: Type.Optional(NewAttributes),
  expires_in_hours: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_INVITATION_HOURS,
      description: 'How long a link of this invitation works. `INVITATION_EXPIRE_HOURS` by default.',
      examples: [72],
    }),
  ),
});

export const InviteBody = Type.Object(invitation, {
  title: 'Invite',
  description: 'The person who accepts the invitation enters the names that it lacks.',
});
export type InviteBody = Type.Static<typeof InviteBody>;

const bulkOf = <T extends TSchema>(row: T) =>
  Type.Object(
    { invitations: Type.Array(row, { minItems: 1, maxItems: MAX_INVITED }) },
    { title: 'BulkInvite' },
  );
/** As documented. A request with a faulty row is answered: see `BulkInviteInput`. */
export const BulkInviteBody = bulkOf(Type.Object(invitation));
/** As validated: rows may be anything, because each faulty one is refused by itself. */
export const BulkInviteInput = bulkOf(Type.Unknown());
export type BulkInviteInput = Type.Static<typeof BulkInviteInput>;

export const RefusedInvitation = Type.Object(
  {
    index: Type.Integer({ description: 'The row in `invitations`, from 0.' }),
    email: Type.String({ description: 'As it was sent.' }),
    status: Type.Integer({ description: 'What the row alone would have been answered with.' }),
    code: Type.String(),
    detail: Type.String(),
    errors: Type.Optional(Type.Array(FieldError)),
  },
  { title: 'RefusedInvitation' },
);
export type RefusedInvitation = Type.Static<typeof RefusedInvitation>;

export const BulkInviteEnvelope = DataEnvelope(
  Type.Object(
    { invited: Type.Array(User), refused: Type.Array(RefusedInvitation) },
    { title: 'BulkInvited' },
  ),
);

const acceptance = {
  token: Type.String(),
  first_name: Type.Optional(FirstNameInput),
  last_name: Type.Optional(LastNameInput),
};
const namesNote =
  'A name is required if the invitation has none. One that is sent replaces that of the invitation.';

export const InvitationPasskeyBody = Type.Object(acceptance, {
  title: 'InvitationPasskey',
  description: namesNote,
});
export type InvitationPasskeyBody = Type.Static<typeof InvitationPasskeyBody>;

export const AcceptInvitationBody = Type.Object(
  {
    ...acceptance,
    password: Type.Optional(PasswordInput),
    passkey: Type.Optional(PasskeyRegistration),
  },
  {
    title: 'AcceptInvitation',
    description: `Exactly one of \`password\` and \`passkey\`. ${namesNote}`,
    examples: [
      {
        token: 'q2wZ0mJt8QyJm1sVhXb3c7D4uK5nRf6gTa9eLpYxWoI',
        password: 'Brisk-Otter71-Lantern',
        first_name: 'Ada',
        last_name: 'Lovelace',
      },
    ],
  },
);
export type AcceptInvitationBody = Type.Static<typeof AcceptInvitationBody>;

export const AcceptedInvitation = Type.Object(
  { ...User.properties, recovery_codes: Type.Optional(recoveryCodes) },
  { title: 'AcceptedInvitation' },
);
export type AcceptedInvitation = Type.Static<typeof AcceptedInvitation>;
export const AcceptedInvitationEnvelope = DataEnvelope(AcceptedInvitation);
