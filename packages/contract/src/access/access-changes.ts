// Schemas of changes of access: many in one request, and the preview of any of them.
import Type, { type TSchema } from 'typebox';
import { MAX_IDS, Uuid, UuidList } from '../http/common.ts';
import { DataEnvelope } from '../http/envelope.ts';
import { PermissionAuthentication } from '../permission-records.ts';

/** Subjects that a preview names by default, and at most. */
export const NAMED_SUBJECTS = 100;
const MAX_NAMED_SUBJECTS = 10_000;

/** Query of every operation that has a preview. */
export const DryRunQuery = Type.Object({
  dry_run: Type.Optional(
    Type.Boolean({
      description:
        'True changes nothing: the response is a preview of who would gain and lose which permissions, or of the refusal.',
    }),
  ),
  subjects: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_NAMED_SUBJECTS,
      default: NAMED_SUBJECTS,
      description:
        'With `dry_run`: how many of the gaining and losing subjects the preview names. Without `access.explain`, 100 at most; without `users.read` too, none.',
    }),
  ),
});

const Count = Type.Integer({ minimum: 0 });
const PermissionCount = Type.Object(
  {
    permission: Type.String(),
    subjects: Count,
    authentication: Type.Optional(PermissionAuthentication),
  },
  { title: 'PermissionCount' },
);

export const AccessImpact = Type.Object(
  {
    gaining: Type.Integer({ minimum: 0, description: 'Active subjects that gain a permission.' }),
    losing: Type.Integer({ minimum: 0, description: 'Active subjects that lose a permission.' }),
    gained: Type.Array(PermissionCount, { description: 'How many subjects gain each permission.' }),
    lost: Type.Array(PermissionCount, { description: 'How many subjects lose each permission.' }),
    subjects: Type.Array(
      Type.Object(
        {
          type: Type.Enum(['user', 'service_account']),
          id: Uuid,
          name: Type.String(),
          gained: Type.Array(Type.String()),
          lost: Type.Array(Type.String()),
        },
        { title: 'AffectedSubject' },
      ),
      {
        description: `The first of the gaining and losing subjects, by name; ${NAMED_SUBJECTS} unless \`subjects\` of the query names another number. Empty for callers with neither \`access.explain\` nor \`users.read\`.`,
      },
    ),
    more: Type.Integer({
      minimum: 0,
      description: 'Gaining and losing subjects that `subjects` leaves out.',
    }),
    inactive: Type.Integer({
      minimum: 0,
      description:
        'Subjects that stay inactive and would gain or lose a permission if they were active. No other number includes them.',
    }),
  },
  {
    title: 'AccessImpact',
    description:
      'Users and service accounts, each counted once, with what they gain or lose in total: a permission that another role also gives is not lost.',
  },
);
export type AccessImpact = Type.Static<typeof AccessImpact>;

export const AccessPreview = Type.Object(
  {
    dry_run: Type.Literal(true),
    would_be_refused: Type.Union([
      Type.Object(
        { status: Type.Integer(), code: Type.String(), detail: Type.String() },
        { title: 'PreviewedRefusal', description: 'The error that the change itself would get.' },
      ),
      Type.Null(),
    ]),
    impact: Type.Union([AccessImpact, Type.Null()], { description: 'Null if the change would be refused.' }),
  },
  { title: 'AccessPreview' },
);
export type AccessPreview = Type.Static<typeof AccessPreview>;
export const AccessPreviewEnvelope = DataEnvelope(AccessPreview);
export type AccessPreviewEnvelope = Type.Static<typeof AccessPreviewEnvelope>;

/** The response of an operation that has a preview. */
export const OrPreview = <T extends TSchema>(envelope: T) => Type.Union([envelope, AccessPreviewEnvelope]);

/** Maximum items of one request. */
const MAX_CHANGES = MAX_IDS;

const AccessChange = Type.Object(
  {
    role_id: Type.Optional(Uuid),
    user_id: Type.Optional(Uuid),
    service_account_id: Type.Optional(Uuid),
    add_permission_ids: Type.Optional(UuidList),
    remove_permission_ids: Type.Optional(UuidList),
    add_role_ids: Type.Optional(UuidList),
    remove_role_ids: Type.Optional(UuidList),
    delete: Type.Optional(
      Type.Boolean({
        description:
          'True deletes the role, after all other changes of the request. If it then still has a permission or a holder, the response is 409 and nothing changes. Requires `role.delete`.',
      }),
    ),
    version: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 2_147_483_647,
        description:
          'The number in the ETag of the record. If the record has another version, the response is 412.',
      }),
    ),
  },
  {
    title: 'AccessChange',
    description:
      'Names one record: `role_id` with `add_permission_ids`, `remove_permission_ids` and `delete`, or `user_id` or `service_account_id` with `add_role_ids` and `remove_role_ids`.',
  },
);
export type AccessChange = Type.Static<typeof AccessChange>;

export const ChangeAccessBody = Type.Object(
  { changes: Type.Array(AccessChange, { minItems: 1, maxItems: MAX_CHANGES }) },
  { title: 'ChangeAccess', description: 'Each record is in one item only.' },
);
export type ChangeAccessBody = Type.Static<typeof ChangeAccessBody>;

const version = Type.Integer({
  description: 'The version of the record after the change. A deleted role has the last one that it had.',
});
export const ChangedAccess = Type.Object(
  {
    change_id: Type.String({
      format: 'uuid',
      description: 'Every audit entry of the request has it as `details.change_id`.',
    }),
    items: Type.Array(
      Type.Object(
        {
          role_id: Type.Optional(Uuid),
          user_id: Type.Optional(Uuid),
          service_account_id: Type.Optional(Uuid),
          version,
        },
        { title: 'ChangedRecord' },
      ),
      { description: 'In the order of the request.' },
    ),
  },
  { title: 'ChangedAccess' },
);
export type ChangedAccess = Type.Static<typeof ChangedAccess>;
export const ChangedAccessEnvelope = DataEnvelope(ChangedAccess);
