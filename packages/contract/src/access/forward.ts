// What a gateway asks about each request before it forwards it, and what it learns about the caller.
import Type from 'typebox';

/**
 * Other parameters are refused: with `permission` misspelt and ignored, every signed-in caller would be let in.
 */
export const ForwardQuery = Type.Object(
  {
    permission: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 2_000,
        description: 'The name of a permission, ignoring case. Without it, every signed-in caller is let in.',
        examples: ['orders.read'],
      }),
    ),
  },
  { additionalProperties: false },
);

/** The headers of a 204, with their descriptions. Values are percent-encoded UTF-8; what a subject lacks is absent. */
export const subjectHeaders = {
  'X-Castellan-Subject-Type': '`user` or `service_account`.',
  'X-Castellan-Subject-Id': 'The id of the caller.',
  'X-Castellan-Subject-Name': 'The name of the caller: percent-encoded UTF-8.',
  'X-Castellan-Subject-Email': 'The email of a user: percent-encoded UTF-8. Absent for a service account.',
} as const;
export type SubjectHeaders = Partial<Record<keyof typeof subjectHeaders, string>>;
