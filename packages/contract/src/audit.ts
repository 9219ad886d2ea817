// The catalogue of audit actions, and the schemas to read the audit log. audit declares the actions.
// An action that is not listed there cannot be written.
import Type from 'typebox';
import { accessActions } from './audit/access.ts';
import { accountActions } from './audit/accounts.ts';
import { applicationActions } from './audit/applications.ts';
import type { AuditActionEntry } from './audit/entry.ts';
import { identityProviderActions } from './audit/identity-providers.ts';
import { installationActions } from './audit/installation.ts';
import { programActions } from './audit/programs.ts';
import { refusalActions } from './audit/refusals.ts';
import { secondFactorActions } from './audit/second-factors.ts';
import { sessionActions } from './audit/sessions.ts';
import { signInActions } from './audit/sign-ins.ts';
import { userActions } from './audit/users.ts';
import { webhookActions } from './audit/webhooks.ts';
import { Sealing } from './evidence/evidence.ts';
import { Timestamp, Uuid } from './http/common.ts';

export const auditActionCatalogue = {
  ...signInActions,
  ...secondFactorActions,
  ...accountActions,
  ...sessionActions,
  ...refusalActions,
  ...userActions,
  ...accessActions,
  ...programActions,
  ...applicationActions,
  ...identityProviderActions,
  ...webhookActions,
  ...installationActions,
} as const satisfies Record<string, AuditActionEntry>;

export type AuditAction = keyof typeof auditActionCatalogue;
const isAction = (key: string): key is AuditAction => Object.hasOwn(auditActionCatalogue, key);
export const auditActions = Object.keys(auditActionCatalogue).filter(isAction);

const marked = (mark: 'failure' | 'bounded' | 'afterCommit' | 'routine'): AuditAction[] =>
  auditActions.filter((action) => mark in auditActionCatalogue[action]);

/** The actions that `result=failure` finds. */
export const failureActions: readonly AuditAction[] = marked('failure');

/** Actions that one subject can cause at will. */
export const boundedActions: readonly AuditAction[] = marked('bounded');
/** Actions that happen by themselves: `routine=exclude` leaves them out. */
export const routineActions: readonly AuditAction[] = marked('routine');
/** Actions that are written after the commit of their change. */
export const afterCommitActions: readonly AuditAction[] = marked('afterCommit');

export const AuditLogEntry = Type.Object(
  {
    id: Uuid,
    actor_id: Type.Union([Uuid, Type.Null()]),
    actor_type: Type.Union([Type.Literal('user'), Type.Literal('service_account'), Type.Null()]),
    actor_name: Type.Union([Type.String(), Type.Null()], {
      description: 'The name of the service account at that time; null for users.',
    }),
    actor_email: Type.Union([Type.String(), Type.Null()], {
      description: "The actor's email address at that time. It is kept when the account is deleted.",
    }),
    action: Type.String(),
    resource_type: Type.String(),
    resource_id: Type.String(),
    resource_name: Type.Union([Type.String(), Type.Null()], {
      description:
        'Name of the affected record at that time: the email of a user, the name of any other record. It is kept when the record is renamed or deleted.',
    }),
    details: Type.Object({}, { additionalProperties: true }),
    timestamp: Timestamp,
    acted_by_id: Type.Optional(
      Type.String({
        format: 'uuid',
        description: 'The id of the user who acted as the actor; absent where nobody did.',
      }),
    ),
  },
  { title: 'AuditLogEntry' },
);
export type AuditLogEntry = Type.Static<typeof AuditLogEntry>;

export const AuditLogQuery = Type.Object({
  actor_id: Type.Optional(Uuid),
  acted_by_id: Type.Optional({ ...Uuid, description: 'What this user did while acting as somebody else.' }),
  resource_type: Type.Optional(Type.String({ maxLength: 100 })),
  resource_id: Type.Optional(
    Type.String({ maxLength: 100, description: 'The id of the affected record, as text.' }),
  ),
  action: Type.Optional(
    Type.Array(Type.Enum([...auditActions]), { maxItems: 20, description: 'Can be repeated.' }),
  ),
  address: Type.Optional(Type.String({ maxLength: 100, description: 'Client address.' })),
  result: Type.Optional(Type.Enum(['success', 'failure'])),
  routine: Type.Optional(
    Type.Enum(['exclude'], {
      description:
        'Leaves out refreshes of sessions and sign-ins of service accounts. The first page says how many in `routine_left_out`.',
    }),
  ),
  from: Type.Optional(Type.String({ format: 'date-time', description: 'Inclusive.' })),
  to: Type.Optional(Type.String({ format: 'date-time', description: 'Exclusive.' })),
  sealing: Type.Optional(
    Type.Boolean({ description: 'Also says in `sealing` in which seal each entry of the page is.' }),
  ),
  size: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
  cursor: Type.Optional(Type.String({ maxLength: 200, description: '`next_cursor` of the page before.' })),
});
export type AuditLogQuery = Type.Static<typeof AuditLogQuery>;

/** Newest first. `next_cursor` is null on the last page. A page may be shorter than `size`, or empty, and not be the last. */
export const AuditLogPage = Type.Object(
  {
    data: Type.Array(AuditLogEntry),
    next_cursor: Type.Union([Type.String(), Type.Null()], {
      description:
        'The start of the next page; null on the last one. Filters that rarely match together are searched up to 3,000 entries at a time: then a page may be shorter than `size`, or empty, and not be the last.',
    }),
    routine_left_out: Type.Optional(
      Type.Object(
        {
          count: Type.Integer({ minimum: 0 }),
          is_lower_bound: Type.Boolean({ description: 'There may be more than `count`.' }),
        },
        {
          description:
            'The entries that `routine=exclude` leaves out of all pages together. Only on the first page, and only with `routine=exclude`.',
        },
      ),
    ),
    sealing: Type.Optional(Sealing),
    message: Type.String(),
  },
  { title: 'AuditLogPage' },
);
export type AuditLogPage = Type.Static<typeof AuditLogPage>;
