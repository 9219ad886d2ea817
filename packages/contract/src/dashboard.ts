// Schemas of the dashboard: all users see the number of users, administrators see everything.
import Type from 'typebox';
import { Uuid } from './http/common.ts';
import { DataEnvelope } from './http/envelope.ts';

const LastActive = Type.String({ description: '`YYYY-MM-DD HH:MM:SS` in UTC, or `N/A`.' });

export const Dashboard = Type.Object(
  {
    stats: Type.Object(
      {
        total_users: Type.Integer(),
        active_users: Type.Optional(Type.Integer()),
        total_roles: Type.Optional(Type.Integer()),
        total_permissions: Type.Optional(Type.Integer()),
        active_sessions: Type.Optional(
          Type.Integer({ description: 'Live sessions. Above 10,000, the number is up to 60 seconds old.' }),
        ),
      },
      { title: 'DashboardStats' },
    ),
    recent_logins: Type.Union([
      Type.Array(
        Type.Object(
          { id: Uuid, name: Type.String(), email: Type.String(), last_active: LastActive },
          { title: 'RecentLogin' },
        ),
      ),
      Type.Null(),
    ]),
    system_users_summary: Type.Union([
      Type.Array(
        Type.Object(
          {
            id: Uuid,
            name: Type.String(),
            email: Type.String(),
            role: Type.String(),
            status: Type.String({ description: 'active, inactive, locked or unverified' }),
            last_active: LastActive,
          },
          { title: 'UserSummary' },
        ),
      ),
      Type.Null(),
    ]),
  },
  { title: 'Dashboard' },
);
export type Dashboard = Type.Static<typeof Dashboard>;
export const DashboardEnvelope = DataEnvelope(Dashboard);

const ActivityDay = Type.Object(
  {
    day: Type.String({ format: 'date', description: 'A day of UTC.' }),
    sign_ins: Type.Integer(),
    refusals: Type.Integer({ description: 'Refused sign-ins.' }),
    registrations: Type.Integer(),
  },
  { title: 'ActivityDay' },
);
export type ActivityDay = Type.Static<typeof ActivityDay>;
export const ActivityEnvelope = DataEnvelope(Type.Array(ActivityDay));

export const ActivityQuery = Type.Object({
  days: Type.Integer({ minimum: 1, maximum: 90, default: 30, description: 'The days up to today.' }),
});

/** What deserves attention → the list of exactly these records, under `/api/v1`. */
export const attentionFilters = {
  locked_users: { resource: 'users', query: { status: 'locked' } },
  unverified_users_near_removal: { resource: 'users', query: { removal_within_hours: '24' } },
  invitations_ended: { resource: 'users', query: { invitation: 'ended' } },
  users_without_roles: { resource: 'users', query: { roles: 'none' } },
  users_without_required_factor: {
    resource: 'users',
    query: { second_factor: 'missing', is_active: 'true' },
  },
  permissions_without_roles: { resource: 'permissions', query: { roles: 'none', is_builtin: 'false' } },
  roles_without_holders: { resource: 'roles', query: { holders: 'none' } },
  roles_without_permissions: { resource: 'roles', query: { permissions: 'none' } },
} as const satisfies Record<string, { resource: string; query: Record<string, string> }>;
export type AttentionCode = keyof typeof attentionFilters;
const isAttentionCode = (key: string): key is AttentionCode => Object.hasOwn(attentionFilters, key);
export const attentionCodes = Object.keys(attentionFilters).filter(isAttentionCode);

const AttentionItem = Type.Object(
  {
    code: Type.Enum([...attentionCodes]),
    count: Type.Integer({
      description:
        'Exact, except for more than 1,000 locked users, ended invitations or users without a required factor.',
    }),
    count_is_estimate: Type.Optional(
      Type.Boolean({
        description: 'True if there are more records. `count` then says how many there are at least.',
      }),
    ),
    filter: Type.Object(
      {
        path: Type.String({ description: 'The list of exactly these records.' }),
        resource: Type.String({ description: 'The list without its filters.' }),
        query: Type.Record(Type.String(), Type.String(), { description: 'The filters of the list.' }),
      },
      { title: 'AttentionFilter' },
    ),
  },
  { title: 'AttentionItem' },
);
export type AttentionItem = Type.Static<typeof AttentionItem>;
export const AttentionEnvelope = DataEnvelope(
  Type.Object({ items: Type.Array(AttentionItem) }, { title: 'Attention' }),
);
