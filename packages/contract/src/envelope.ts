// The shapes that every answer has: `{data?, message}` on success, `{detail, code, request_id, errors?}` on failure.
// It must not know any single operation.
import Type, { type TSchema } from 'typebox';

/** Success with a payload. */
export const DataEnvelope = <T extends TSchema>(data: T) =>
  Type.Object({ data, message: Type.String({ description: 'One sentence for people.' }) });

/** Success of the operations that answer a message and nothing else. */
export const MessageEnvelope = Type.Object(
  { message: Type.String({ description: 'One sentence for people.' }) },
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
  { title: 'PasswordRefusal', description: 'Every broken rule of the password policy at once.' },
);

export const ErrorBody = Type.Object(
  {
    detail: Type.Union([Type.String(), PasswordRefusal]),
    code: Type.String({ description: 'Stable; programs switch on it.' }),
    request_id: Type.String(),
    errors: Type.Optional(Type.Array(FieldError)),
    current: Type.Optional(
      Type.Object({}, { additionalProperties: true, description: 'On 412: the record as it is now.' }),
    ),
  },
  { title: 'Error' },
);
export type ErrorBody = Type.Static<typeof ErrorBody>;
export type FieldError = Type.Static<typeof FieldError>;
