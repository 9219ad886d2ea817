// Schemas of why a subject may or may not do something: explanations and effective permissions.
import Type from 'typebox';
import { AcrValue } from '../authentication.ts';
import { Uuid } from '../http/common.ts';
import { DataEnvelope } from '../http/envelope.ts';
import { PermissionAuthentication } from '../permission-records.ts';
import { DecisionContext, neededProof } from './authzen.ts';
import { decisionReasons, subjectNotices } from './decisions.ts';
import { holderTypes } from './holders.ts';

const RoleReference = Type.Object({ id: Uuid, name: Type.String() }, { title: 'RoleName' });

export const PermissionSource = Type.Object(
  {
    role: Type.Object({ id: Uuid, name: Type.String(), is_system: Type.Boolean() }, { title: 'SourceRole' }),
    role_groups: Type.Array(Type.Array(Type.String()), {
      description: 'Each role group of the role, as the names on its path from the root.',
      examples: [[['Company', 'Editorial']]],
    }),
  },
  { title: 'PermissionSource', description: 'A role of the subject that holds the permission.' },
);
export type PermissionSource = Type.Static<typeof PermissionSource>;

const notices = Type.Array(Type.Enum([...subjectNotices]), {
  description:
    'Facts about a user that decide nothing: `locked` refuses sign-ins with a password, `unverified` all of them.',
});

export const EffectivePermission = Type.Object(
  {
    name: Type.String({ examples: ['article.publish'] }),
    description: Type.String(),
    group: Type.Object({ id: Uuid, name: Type.String() }, { title: 'GroupReference' }),
    superuser: Type.Optional(
      Type.Boolean({ description: 'True for a superuser, who holds every permission without any source.' }),
    ),
    authentication: Type.Optional(PermissionAuthentication),
    sources: Type.Array(PermissionSource, { description: 'Sorted by the name of the role.' }),
  },
  { title: 'EffectivePermission' },
);
export type EffectivePermission = Type.Static<typeof EffectivePermission>;

export const EffectivePermissions = Type.Object(
  {
    subject: Type.Object(
      { type: Type.Enum([...holderTypes]), id: Uuid, name: Type.String() },
      { title: 'PermissionSubject' },
    ),
    is_superuser: Type.Boolean(),
    blocked: Type.Union([Type.Literal('inactive'), Type.Null()], {
      description: '`inactive`: the subject may do nothing; `permissions` is what it would have.',
    }),
    notices,
    permissions: Type.Array(EffectivePermission, { description: 'Sorted by name.' }),
  },
  { title: 'EffectivePermissions' },
);
export type EffectivePermissions = Type.Static<typeof EffectivePermissions>;
export const EffectivePermissionsEnvelope = DataEnvelope(EffectivePermissions);

export const ExplainBody = Type.Object(
  {
    subject: Type.Object(
      {
        type: Type.String({ description: '`user`, `service_account` or `role`.' }),
        id: Type.String({
          description:
            'The UUID, or the email of a user, or the name of a service account or a role, or the external id of a user or a service account. What names nobody is denied with `unknown_subject`.',
        }),
      },
      { title: 'SubjectReference' },
    ),
    permission: Type.String({
      description: 'The name of a permission, compared ignoring case.',
      examples: ['article.publish'],
    }),
    context: Type.Optional(DecisionContext),
  },
  { title: 'Explain' },
);
export type ExplainBody = Type.Static<typeof ExplainBody>;
/** As validated: a wrong context is refused as evaluations refuse it. */
export const ExplainInput = Type.Object({
  ...ExplainBody.properties,
  context: Type.Optional(Type.Unknown()),
});

export const NearestRole = Type.Object(
  {
    role: RoleReference,
    holders: Type.Integer({ description: 'Users and service accounts with this role, active or not.' }),
    adds: Type.Array(Type.String(), {
      description: 'Names of the other permissions that the role would give to the subject, sorted.',
    }),
  },
  { title: 'NearestRole' },
);
export type NearestRole = Type.Static<typeof NearestRole>;

export const Explanation = Type.Object(
  {
    decision: Type.Boolean(),
    reason: Type.Enum([...decisionReasons]),
    permission: Type.String({ description: 'As it is written in the catalogue; as sent if it is unknown.' }),
    subject: Type.Object(
      {
        type: Type.String(),
        id: Type.String({ description: 'The UUID; as sent if the subject is unknown.' }),
        name: Type.Union([Type.String(), Type.Null()]),
      },
      { title: 'ExplainedSubject' },
    ),
    ...neededProof,
    required_acr: Type.Optional(AcrValue),
    max_auth_age: Type.Optional(
      Type.Union([Type.Integer(), Type.Null()], {
        description: 'What the permission asks for, as `required_acr` does. Absent if it asks for nothing.',
      }),
    ),
    sources: Type.Array(PermissionSource, {
      description:
        'The roles that hold the permission, also of a superuser, of an inactive subject, or of one that must prove more.',
    }),
    notices,
    nearest: Type.Array(NearestRole, {
      description:
        'With a denial: up to 10 roles that hold the permission; those that add the fewest other permissions come first. Empty for callers without `access.explain`.',
    }),
  },
  { title: 'Explanation' },
);
export type Explanation = Type.Static<typeof Explanation>;
export const ExplanationEnvelope = DataEnvelope(Explanation);
