// Schemas of the holders of a permission or a role: who has it, and through which roles.
import Type from 'typebox';
import { Uuid } from '../http/common.ts';
import { RoleAuthentication } from './requirements.ts';

/** Everybody who can hold roles. */
export const holderTypes = ['user', 'service_account'] as const;

const HolderRole = Type.Object(
  { id: Uuid, name: Type.String(), authentication: Type.Optional(RoleAuthentication) },
  { title: 'HolderRole' },
);

export const Holder = Type.Object(
  {
    type: Type.Enum([...holderTypes]),
    id: Uuid,
    name: Type.String({
      description: 'First and last name of a user, or the name of the service account.',
      examples: ['Ada Lovelace'],
    }),
    email: Type.Optional(Type.String({ description: 'Of users only.' })),
    is_active: Type.Boolean({
      description: 'A holder who is not active may do nothing, and searches leave it out.',
    }),
    superuser: Type.Boolean({ description: 'Superusers may do everything, with or without the roles.' }),
    roles: Type.Array(HolderRole, {
      description: 'Sorted by name. Empty for a superuser who holds the permission through no role.',
    }),
  },
  { title: 'Holder' },
);
export type Holder = Type.Static<typeof Holder>;

/** `next_cursor` is null on the last page. */
export const HolderPage = Type.Object(
  {
    data: Type.Array(Holder),
    next_cursor: Type.Union([Type.String(), Type.Null()]),
    total: Type.Integer({ description: 'All holders, counted when the first page was read.' }),
    message: Type.String(),
  },
  { title: 'HolderPage' },
);
export type HolderPage = Type.Static<typeof HolderPage>;

const include = Type.Optional(
  Type.Enum(['superusers'], {
    description: '`superusers` adds the superusers who hold the permission through no role.',
  }),
);
const pageFields = {
  size: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
  cursor: Type.Optional(Type.String({ maxLength: 200, description: '`next_cursor` of the page before.' })),
};
export const RoleHoldersQuery = Type.Object(pageFields);
export const PermissionHoldersQuery = Type.Object({ ...pageFields, include });
export type PermissionHoldersQuery = Type.Static<typeof PermissionHoldersQuery>;
export const PermissionHoldersExportQuery = Type.Object({ include });
