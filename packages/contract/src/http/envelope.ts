// Schemas of every response: `{data?, message}` on success, `{detail, code, request_id, errors?}` on failure.
// They must not depend on a single operation.
import Type, { type TSchema } from 'typebox';
import { AcrValue, SecondFactorRequest, StepUpRequest } from '../authentication.ts';

/** A successful response with data. */
export const DataEnvelope = <T extends TSchema>(data: T) =>
  Type.Object({ data, message: Type.String({ description: 'A sentence for people.' }) });

/** A successful response with a message only. */
export const MessageEnvelope = Type.Object(
  { message: Type.String({ description: 'A sentence for people.' }) },
  { title: 'Message' },
);

export const FieldError = Type.Object(
  {
    field: Type.String({ description: 'Dotted path: `email`, `query.size`, `path.user_id`.' }),
    code: Type.String(),
    message: Type.String(),
  },
  { title: 'FieldError' },
);

export const PasswordRefusal = Type.Object(
  { message: Type.String(), errors: Type.Array(Type.String()) },
  { title: 'PasswordRefusal', description: 'Lists every broken rule of the password policy.' },
);

export const ErrorBody = Type.Object(
  {
    detail: Type.Union([Type.String(), PasswordRefusal]),
    code: Type.String({ description: 'Stable; switch on it in programs.' }),
    request_id: Type.String(),
    errors: Type.Optional(Type.Array(FieldError)),
    required_permission: Type.Optional(
      Type.String({ description: 'With `permission_denied`: the permission that the operation requires.' }),
    ),
    second_factor: Type.Optional(SecondFactorRequest),
    attempts_left: Type.Optional(
      Type.Integer({ description: 'With a wrong code: how many more this sign-in takes.' }),
    ),
    step_up: Type.Optional(StepUpRequest),
    required_acr: Type.Optional(AcrValue),
    provider: Type.Optional(
      Type.Object(
        { slug: Type.String(), name: Type.String() },
        { description: 'With `provider_required`: the identity provider to sign in with.' },
      ),
    ),
    users: Type.Optional(
      Type.Integer({
        description: 'With `user_attribute_in_use`: how many users have values that stand in the way.',
      }),
    ),
    current: Type.Optional(
      Type.Object({}, { additionalProperties: true, description: 'With 412: the current record.' }),
    ),
  },
  { title: 'Error' },
);
export type ErrorBody = Type.Static<typeof ErrorBody>;
export type FieldError = Type.Static<typeof FieldError>;
