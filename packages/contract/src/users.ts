// The user as the API shows it, and the bodies of a user's own operations.
// Internal attributes (hash, counters, locks) have no place in any schema here.
import Type from 'typebox';
import { PersonNameInput, Timestamp, Uuid } from './common.ts';
import { DataEnvelope } from './envelope.ts';

export const RoleSummary = Type.Object(
  { id: Uuid, name: Type.String(), description: Type.String() },
  { title: 'RoleSummary' },
);

export const User = Type.Object(
  {
    id: Uuid,
    email: Type.String(),
    first_name: Type.String(),
    last_name: Type.String(),
    is_active: Type.Boolean(),
    is_superuser: Type.Boolean(),
    verified: Type.Boolean(),
    roles: Type.Array(RoleSummary),
    permissions: Type.Array(Type.String(), {
      description: 'Sorted, unique permission names through all roles; all of them for a superuser.',
    }),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: 'User' },
);
export type User = Type.Static<typeof User>;

export const UserEnvelope = DataEnvelope(User);

export const UpdateMeBody = Type.Object(
  {
    first_name: Type.Optional(PersonNameInput('Ada')),
    last_name: Type.Optional(PersonNameInput('Lovelace')),
  },
  { title: 'UpdateMe', description: 'Only names can be changed here.' },
);
export type UpdateMeBody = Type.Static<typeof UpdateMeBody>;

/** Fields that `PUT /users/me` refuses (400) instead of ignoring, because ignoring them would mislead. */
export const fieldsRefusedOnMe = [
  'id',
  'email',
  'password',
  'roles',
  'role_id',
  'is_active',
  'is_superuser',
  'is_verified',
  'verified',
  'permissions',
] as const;
