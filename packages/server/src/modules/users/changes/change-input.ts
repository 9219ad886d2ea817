// Reads request bodies of administrators into changes with cleaned texts and canonical ids. It uses no database.
import type { FieldError } from '@castellan/contract/envelope';
import type { BulkUpdateUsersBody, UpdateUserBody, UserRolesBody } from '@castellan/contract/users';
import { AppError } from '../../../platform/errors.ts';
import { allHandled } from '../../../platform/fields.ts';
import { canonicalIds } from '../../../platform/http/ids.ts';
import { requireEmail } from '../../../platform/security/email.ts';
import { cleanExternalId } from '../../../platform/security/record-text.ts';
import { cleanNames } from '../names.ts';
import type { UserChange } from './change-plans.ts';
import type { FieldChanges } from './change-store.ts';

type FieldsInput = Omit<UpdateUserBody, 'password'>;
type At = (field: string) => string;

const itself: At = (field) => field;

/**
 * Picks the fields of a body one by one, because the schema lets unknown ones pass. A missing field stays unchanged. Throws
 * `invalid_email` or `invalid_input` (400).
 */
export function cleanChange(id: string, input: FieldsInput, at: At = itself): UserChange {
  const {
    role_id,
    email,
    first_name,
    last_name,
    is_active,
    is_superuser,
    verified,
    must_change_password,
    external_id,
    ...rest
  } = input;
  allHandled(rest);
  const fields: FieldChanges = {
    ...(email === undefined ? {} : { email: requireEmail(email, at('email')) }),
    ...cleanNames({ first_name, last_name }, at),
    ...(is_active === undefined ? {} : { is_active }),
    ...(is_superuser === undefined ? {} : { is_superuser }),
    ...(verified === undefined ? {} : { verified }),
    ...(must_change_password === undefined ? {} : { must_change_password }),
    ...(external_id === undefined
      ? {}
      : { external_id: cleanExternalId(external_id, at('external_id'), 'invalid_input') }),
  };
  return { id, fields, at, ...(role_id === undefined ? {} : { roles: { replace: canonicalIds(role_id) } }) };
}

const invalid = (error: FieldError): AppError =>
  new AppError('invalid_input', { detail: `${error.field} ${error.message}.`, errors: [error] });

/** Returns one change per user, in the order of the request, and the field that contains their ids. Throws 400. */
export function readBulkChanges(body: BulkUpdateUsersBody): { changes: UserChange[]; idsField: string } {
  if (holdsPassword(body)) throw new AppError('password_in_bulk');
  if (body.users !== undefined) {
    const { users } = body;
    if (body.user_ids !== undefined || body.updates !== undefined)
      throw invalid({
        field: 'users',
        code: 'ambiguous',
        message: 'cannot be combined with user_ids and updates',
      });
    const changes = users.map(({ id, ...input }, index) =>
      cleanChange(id.toLowerCase(), input, (field) => `users.${index}.${field}`),
    );
    const repeated = changes.findIndex(({ id }, index) => changes.findIndex((one) => one.id === id) < index);
    if (repeated >= 0)
      throw invalid({
        field: `users.${repeated}.id`,
        code: 'repeated',
        message: 'names a user more than once',
      });
    return { changes, idsField: 'users' };
  }
  const { user_ids, updates } = body;
  if (user_ids === undefined || updates === undefined)
    throw invalid({
      field: user_ids === undefined ? 'user_ids' : 'updates',
      code: 'required',
      message: 'is required, unless you send users',
    });
  const change = cleanChange('', updates, (field) => `updates.${field}`);
  const ids = new Set(user_ids.map((id) => id.toLowerCase()));
  return { changes: [...ids].map((id) => ({ ...change, id })), idsField: 'user_ids' };
}

// Searches at any depth, because a client that sends a password expects it to be set. The body parser bounds the depth.
function holdsPassword(value: unknown): boolean {
  if (value === null || typeof value !== 'object') return false;
  return Object.hasOwn(value, 'password') || Object.values(value).some(holdsPassword);
}

/** Returns the ids in `role_ids` or in the bare array; undefined if the body has neither. */
export function readRoleIds(body: UserRolesBody | null): string[] | undefined {
  const ids = Array.isArray(body) ? body : body?.role_ids;
  return ids === undefined ? undefined : canonicalIds(ids);
}

export const roleIdsMissing = (where: string): AppError =>
  invalid({ field: 'role_ids', code: 'required', message: `is required${where}` });
