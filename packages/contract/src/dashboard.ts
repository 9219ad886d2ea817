// The dashboard: everybody sees how many users there are, administrators the rest.
import Type from 'typebox';
import { Uuid } from './common.ts';
import { DataEnvelope } from './envelope.ts';

const LastActive = Type.String({ description: '`YYYY-MM-DD HH:MM:SS` in UTC, or `N/A`.' });

export const Dashboard = Type.Object(
  {
    stats: Type.Object(
      {
        total_users: Type.Integer(),
        active_users: Type.Optional(Type.Integer()),
        total_roles: Type.Optional(Type.Integer()),
        total_permissions: Type.Optional(Type.Integer()),
        active_sessions: Type.Optional(Type.Integer()),
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
