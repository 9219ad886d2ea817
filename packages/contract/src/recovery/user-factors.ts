// Schemas of the second factors of another user, and of their reset by an administrator.
// No schema here may contain a stored secret, a credential id, a public key or a counter.
import Type from 'typebox';
import { Factors } from '../factors.ts';
import { Nullable, Timestamp } from '../http/common.ts';
import { DataEnvelope } from '../http/envelope.ts';

// How recently the caller proved who they are says nothing about the user.
const { context: _, ...shown } = Factors.properties;

export const UserFactors = Type.Object(
  {
    ...shown,
    failures: Type.Object(
      {
        locked_until: Nullable(
          Type.String({
            format: 'date-time',
            description: 'Until when wrong codes have closed the authenticator app. Null if it is open.',
          }),
        ),
        suspended: Type.Boolean({
          description: 'Whether the app was suspended: the user sets it up anew, or you reset their factors.',
        }),
      },
      { title: 'CodeFailures' },
    ),
    trusted_devices: Type.Integer({
      description: 'Devices on which the password alone signs in.',
    }),
    recovery_pending: Type.Boolean({
      description:
        'Whether the factors were reset: the next sign-in takes the password and the recovery link.',
    }),
  },
  { title: 'UserFactors' },
);
export type UserFactors = Type.Static<typeof UserFactors>;
export const UserFactorsEnvelope = DataEnvelope(UserFactors);

export const ResetFactorsBody = Type.Union(
  [
    Type.Object({
      deliver: Type.Optional(
        Type.Enum(['mail', 'show'], {
          description:
            '`mail` (default): the recovery link is mailed to the user. `show`: the response has it, and you hand it over in person.',
        }),
      ),
      reason: Type.Optional(
        Type.String({
          maxLength: 4_000,
          description: 'Why, for the audit log. Up to 1,000 characters.',
          examples: ['Lost phone, identified at the front desk'],
        }),
      ),
    }),
    Type.Null(),
  ],
  { title: 'ResetFactors' },
);
export type ResetFactorsBody = Type.Static<typeof ResetFactorsBody>;

export const FactorsReset = Type.Object(
  {
    ...UserFactors.properties,
    recovery_url: Type.Optional(
      Type.String({ description: 'With `deliver: show`. Shown here once; it works with the password only.' }),
    ),
    expires_at: Timestamp,
  },
  { title: 'FactorsReset' },
);
export type FactorsReset = Type.Static<typeof FactorsReset>;
export const FactorsResetEnvelope = DataEnvelope(FactorsReset);
