// Schemas of personal access tokens.
// The token itself is only in the response that creates it.
import Type from 'typebox';
import { NameInput, Nullable, Timestamp, Uuid } from '../http/common.ts';
import { DataEnvelope } from '../http/envelope.ts';

export const PersonalToken = Type.Object(
  {
    id: Uuid,
    name: Type.String(),
    prefix: Type.String({ description: 'The part of the token that names it. It is not a secret.' }),
    permissions: Nullable(
      Type.Array(Type.String(), {
        description:
          'The only permissions that the token may use, as long as its owner holds them; null for all of a superuser.',
      }),
    ),
    narrowed_by: Type.Union([Type.Literal('maker'), Type.Null()], {
      description:
        '`maker`: the permissions are those that its owner held when they made the token. Null: the request named them, or the token is not narrowed.',
    }),
    expires_at: Timestamp,
    last_used_at: Type.Union([Timestamp, Type.Null()], { description: 'Exact to the minute.' }),
    created_at: Timestamp,
  },
  { title: 'PersonalToken' },
);
export type PersonalToken = Type.Static<typeof PersonalToken>;

export const NewPersonalToken = Type.Object(
  {
    ...PersonalToken.properties,
    token: Type.String({ description: 'The personal access token. It is shown only here.' }),
  },
  { title: 'NewPersonalToken' },
);
export type NewPersonalToken = Type.Static<typeof NewPersonalToken>;

export const PersonalTokensEnvelope = DataEnvelope(Type.Array(PersonalToken));
export const NewPersonalTokenEnvelope = DataEnvelope(NewPersonalToken);

export const PersonalTokenParams = Type.Object({ token_id: Uuid });
export const UserPersonalTokenParams = Type.Object({ user_id: Uuid, token_id: Uuid });

/** Maximum permissions to which one token can be narrowed. */
const MAX_NARROWED = 1_000;

export const CreatePersonalTokenBody = Type.Object(
  {
    name: NameInput('deployment'),
    expires_at: Type.String({
      format: 'date-time',
      description: 'In the future, and at most `PERSONAL_TOKEN_MAX_DAYS` ahead.',
    }),
    permissions: Type.Optional(
      Nullable(
        Type.Array(Type.String({ maxLength: 400 }), {
          maxItems: MAX_NARROWED,
          description:
            'Names of the only permissions that the token may use. You must hold them. Without it: those that you hold now, and for a superuser everything.',
          examples: [['users.read']],
        }),
      ),
    ),
    current_password: Type.Optional(
      Type.String({
        maxLength: 1_000,
        description:
          'Proves that it is you, instead of a recent sign-in. Not for an account with a second factor, which proves that by `POST /api/v1/auth/step-up`.',
        examples: ['Correct-Horse-7-Battery'],
      }),
    ),
  },
  { title: 'CreatePersonalToken' },
);
export type CreatePersonalTokenBody = Type.Static<typeof CreatePersonalTokenBody>;
