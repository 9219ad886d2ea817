// What administrators send about users, made into changes with clean texts and canonical ids. It asks no database.
import type { FieldError } from '@castellan/contract/envelope';
import type { BulkUpdateUsersBody, UpdateUserBody, UserRolesBody } from '@castellan/contract/users';
import { AppError } from '../../platform/errors.ts';
import { canonicalIds } from '../../platform/http/ids.ts';
import { canonicalEmail } from '../../platform/security/email.ts';
import type { FieldChanges } from './change-store.ts';
import type { UserChange } from './changes.ts';
import { cleanNames } from './service.ts';

type FieldsInput = Omit<UpdateUserBody, 'password'>;
type At = (field: string) => string;

const itself: At = (field) => field;

/** Throws `invalid_email` (400). */
export function requireEmail(input: string, at: At = itself): string {
  const email = canonicalEmail(input);
  if (email !== null) return email;
  const error = {
    field: at('email'),
    code: 'invalid_email',
    message: 'must be an e-mail address such as ada@example.com',
  };
  throw new AppError('invalid_email', { errors: [error] });
}

/** Throws `invalid_email` or `invalid_input` (400). */
export function cleanChange(id: string, input: FieldsInput, at: At = itself): UserChange {
  const { email, first_name, last_name, is_active, is_superuser, verified, role_id } = input;
  const fields: FieldChanges = {
    ...(email === undefined ? {} : { email: requireEmail(email, at) }),
    ...cleanNames(
      {
        ...(first_name === undefined ? {} : { first_name }),
        ...(last_name === undefined ? {} : { last_name }),
      },
      at,
    ),
    ...(is_active === undefined ? {} : { is_active }),
    ...(is_superuser === undefined ? {} : { is_superuser }),
    ...(verified === undefined ? {} : { verified }),
  };
  return { id, fields, at, ...(role_id === undefined ? {} : { roles: { replace: canonicalIds(role_id) } }) };
}

const invalid = (error: FieldError): AppError =>
  new AppError('invalid_input', { detail: `${error.field} ${error.message}.`, errors: [error] });

/** Each user once, in the order of the request; `idsField` is where their ids stand. Throws 400. */
export function readBulkChanges(body: BulkUpdateUsersBody): { changes: UserChange[]; idsField: string } {
  if (holdsPassword(body)) throw new AppError('password_in_bulk');
  if (body.users !== undefined) {
    const { users } = body;
    if (body.user_ids !== undefined || body.updates !== undefined)
      throw invalid({ field: 'users', code: 'ambiguous', message: 'stands instead of user_ids and updates' });
    const changes = users.map(({ id, ...input }, index) =>
      cleanChange(id.toLowerCase(), input, (field) => `users.${index}.${field}`),
    );
    const repeated = changes.findIndex(({ id }, index) => changes.findIndex((one) => one.id === id) < index);
    if (repeated >= 0)
      throw invalid({
        field: `users.${repeated}.id`,
        code: 'repeated',
        message: 'names a user a second time',
      });
    return { changes, idsField: 'users' };
  }
  const { user_ids, updates } = body;
  if (user_ids === undefined || updates === undefined)
    throw invalid({
      field: user_ids === undefined ? 'user_ids' : 'updates',
      code: 'required',
      message: 'is required (or users, each with its own changes)',
    });
  const change = cleanChange('', updates, (field) => `updates.${field}`);
  const ids = new Set(user_ids.map((id) => id.toLowerCase()));
  return { changes: [...ids].map((id) => ({ ...change, id })), idsField: 'user_ids' };
}

// At any depth: a client that sends one anywhere believes that it will be set. Depth is bounded when the body is read.
function holdsPassword(value: unknown): boolean {
  if (value === null || typeof value !== 'object') return false;
  return Object.hasOwn(value, 'password') || Object.values(value).some(holdsPassword);
}

/** `role_ids`, `role_id` or the bare array; undefined when the body names none of them. */
export function readRoleIds(body: UserRolesBody | null): string[] | undefined {
  const ids = Array.isArray(body) ? body : (body?.role_ids ?? body?.role_id);
  return ids === undefined ? undefined : canonicalIds(ids);
}

export const roleIdsMissing = (where: string): AppError =>
  invalid({ field: 'role_ids', code: 'required', message: `is required${where}` });
