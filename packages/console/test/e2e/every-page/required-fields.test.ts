// The fields that each form demands are those that the service demands: the contract says which.
// It must not list what the service demands: it reads the bodies of the contract.
import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import {
  ChangeEmailBody,
  ChangePasswordBody,
  EmailBody,
  LoginBody,
  RegisterBody,
  ResetConfirmBody,
} from '@castellan/contract/auth';
import { AcceptInvitationBody } from '@castellan/contract/invitations';
import {
  CreatePermissionBody,
  CreatePermissionGroupBody,
  UpdatePermissionGroupBody,
} from '@castellan/contract/permission-records';
import {
  CloneRoleGroupBody,
  CreateRoleGroupBody,
  UpdateRoleGroupBody,
} from '@castellan/contract/role-groups';
import { CreateRoleBody, UpdateRoleBody } from '@castellan/contract/roles';
import {
  CreateApiKeyBody,
  CreateServiceAccountBody,
  UpdateServiceAccountBody,
} from '@castellan/contract/service-accounts';
import { CreateUserBody, UpdateMeBody, UpdateUserBody } from '@castellan/contract/users';
import { linkTo } from '@castellan/testing/accounts/self-service';
import { ADMIN, createVerifiedUser, newEmail, signIn } from '@castellan/testing/harness';
import { addPerson, addRole } from '@castellan/testing/users/people';
import type { Locator } from 'playwright-core';
import { openAs, startConsole } from '../../harness.ts';

// Each test signs in as the administrator.
const site = await startConsole({ after }, { CONCURRENT_SESSION_LIMIT: '100' });
const { service } = site;
const client = await signIn(service, ADMIN);
const created = async (path: string, body: object): Promise<string> =>
  (await client.post(path, body)).body.data.id;
const ada = await addPerson(service);
const role = await addRole(service, 'role.read');
const roleGroup = await created('/api/v1/role-groups', { name: 'Sales' });
const permissionGroup = await created('/api/v1/permission-groups', { name: 'orders' });
const robot = await created('/api/v1/service-accounts', { name: 'robot' });

type Body = { properties: Record<string, unknown>; required?: string[] | undefined };
type Step = { role: 'button' | 'menuitem' | 'tab' | 'treeitem'; name: string | RegExp } | { text: string };
type FormCase = {
  what: string;
  path: string | (() => Promise<string>);
  /** What is clicked, one after the other, to open it. */
  open?: readonly Step[];
  body: Body;
  /** The field of the body by the label of the input. */
  fields: Readonly<Record<string, string>>;
  /** Fields that only the form demands, or only the service, and why. */
  exceptions?: Readonly<Record<string, string>>;
  /** The page is for people who are not signed in. */
  isLight?: boolean;
};

const KEEPS_ITS_NAME =
  'A change may leave the name out. The form shows it, and the service refuses an empty one.';
const MAY_BE_EMPTY = 'The service takes an empty one, which the form sends.';
const FROM_THE_LINK = 'It is in the link of the mail.';

const forms: readonly FormCase[] = [
  {
    what: 'sign in',
    path: '/login',
    body: LoginBody,
    fields: { 'Email address': 'email', Password: 'password' },
    isLight: true,
  },
  {
    what: 'register',
    path: '/register',
    body: RegisterBody,
    fields: {
      'First name': 'first_name',
      'Last name': 'last_name',
      'Email address': 'email',
      Password: 'password',
    },
    exceptions: { last_name: MAY_BE_EMPTY },
    isLight: true,
  },
  {
    what: 'ask for a link',
    path: '/forgot',
    body: EmailBody,
    fields: { 'Email address': 'email' },
    isLight: true,
  },
  {
    what: 'confirm an email again',
    path: '/check-email',
    body: EmailBody,
    fields: { 'Email address': 'email' },
    isLight: true,
  },
  {
    what: 'reset a password',
    path: async () => {
      const { email } = await createVerifiedUser(service);
      await service.client().post('/api/v1/auth/password-reset/request', { email });
      const { text } = await service.mailTo(email, 1);
      return /\/reset#\S+/.exec(text)?.[0] ?? '';
    },
    body: ResetConfirmBody,
    fields: { 'New password': 'new_password' },
    exceptions: { token: FROM_THE_LINK },
    isLight: true,
  },
  {
    what: 'accept an invitation',
    path: async () => {
      const email = newEmail('invited');
      await client.post('/api/v1/users/invitations', { email });
      return `/invitation#token=${await linkTo(service, email, 'invitation')}`;
    },
    body: AcceptInvitationBody,
    fields: { 'First name': 'first_name', 'Last name': 'last_name', Password: 'password' },
    exceptions: {
      token: FROM_THE_LINK,
      first_name: 'Only an invitation without a name demands it.',
      password: 'The form sends it. A button of its own sends a passkey in its place.',
    },
    isLight: true,
  },
  {
    what: 'change the email address',
    path: '/account',
    open: [{ role: 'button', name: 'Change the email address' }],
    body: ChangeEmailBody,
    fields: { 'New email address': 'new_email' },
  },
  {
    what: 'New user',
    path: '/users/new',
    open: [{ text: 'Type' }],
    body: CreateUserBody,
    fields: {
      Email: 'email',
      'First name': 'first_name',
      'Last name': 'last_name',
      Roles: 'role_id',
      Password: 'password',
    },
    exceptions: { last_name: MAY_BE_EMPTY },
  },
  {
    what: 'profile of a user',
    path: `/users?user=${ada.id}`,
    body: UpdateUserBody,
    fields: { Email: 'email', 'First name': 'first_name', 'Last name': 'last_name' },
  },
  {
    what: 'password of a user',
    path: `/users?user=${ada.id}`,
    open: [{ role: 'button', name: 'Set password' }, { text: 'Type' }],
    body: UpdateUserBody,
    fields: { Password: 'password' },
    exceptions: { password: 'A change may leave it out. This form is for nothing else.' },
  },
  {
    what: 'own names',
    path: '/account',
    body: UpdateMeBody,
    fields: { 'First name': 'first_name', 'Last name': 'last_name' },
  },
  {
    what: 'own password',
    path: '/account?tab=password',
    body: ChangePasswordBody,
    fields: { 'Current password': 'current_password', 'New password': 'new_password' },
  },
  {
    what: 'New role',
    path: '/roles',
    open: [{ role: 'button', name: 'New role' }],
    body: CreateRoleBody,
    fields: { Name: 'name', Description: 'description', 'Role group': 'role_group_id' },
  },
  {
    what: 'Edit role',
    path: `/roles/${role}`,
    open: [{ role: 'button', name: 'Edit' }],
    body: UpdateRoleBody,
    fields: { Name: 'name', Description: 'description', 'Role group': 'role_group_id' },
    exceptions: { name: KEEPS_ITS_NAME },
  },
  {
    what: 'New role group',
    path: '/role-groups',
    open: [{ role: 'button', name: 'New group' }],
    body: CreateRoleGroupBody,
    fields: { Name: 'name', Description: 'description' },
  },
  {
    what: 'Edit role group',
    path: `/role-groups?g=${roleGroup}`,
    open: [
      { role: 'button', name: 'Actions for Sales' },
      { role: 'menuitem', name: 'Edit details' },
    ],
    body: UpdateRoleGroupBody,
    fields: { Name: 'name', Description: 'description' },
    exceptions: { name: KEEPS_ITS_NAME },
  },
  {
    what: 'Clone role group',
    path: `/role-groups?g=${roleGroup}`,
    open: [
      { role: 'button', name: 'Actions for Sales' },
      { role: 'menuitem', name: /^Clone/ },
    ],
    body: CloneRoleGroupBody,
    fields: { Name: 'name' },
    exceptions: { name: 'The service takes it under two names and demands one of them.' },
  },
  {
    what: 'New permission',
    path: '/permissions',
    open: [{ role: 'button', name: 'New permission' }],
    body: CreatePermissionBody,
    fields: { 'Permission group': 'group_id', Action: 'name', Description: 'description' },
  },
  {
    what: 'New permission group',
    path: `/permissions?group=${permissionGroup}`,
    open: [
      { role: 'button', name: 'Actions for orders' },
      { role: 'menuitem', name: /^New/ },
    ],
    body: CreatePermissionGroupBody,
    fields: { Name: 'name', Description: 'description' },
  },
  {
    what: 'Edit permission group',
    path: `/permissions?group=${permissionGroup}`,
    open: [
      { role: 'button', name: 'Actions for orders' },
      { role: 'menuitem', name: 'Rename or describe' },
    ],
    body: UpdatePermissionGroupBody,
    fields: { Name: 'name', Description: 'description' },
    exceptions: { name: KEEPS_ITS_NAME },
  },
  {
    what: 'New service account',
    path: '/service-accounts',
    open: [{ role: 'button', name: 'New service account' }],
    body: CreateServiceAccountBody,
    fields: { Name: 'name', Description: 'description', Roles: 'role_ids' },
  },
  {
    what: 'Edit service account',
    path: `/service-accounts?account=${robot}`,
    open: [{ role: 'button', name: /^Edit/ }],
    body: UpdateServiceAccountBody,
    fields: { Name: 'name', Description: 'description' },
    exceptions: { name: KEEPS_ITS_NAME },
  },
  {
    what: 'New API key',
    path: `/service-accounts?account=${robot}`,
    open: [{ role: 'button', name: 'New API key' }],
    body: CreateApiKeyBody,
    fields: { Name: 'name', Expires: 'expires_at', Permissions: 'permissions' },
  },
];

/** Runs in the page. Returns the inputs that people fill in of the form, by label. */
const inputsOf = (form: Element): { label: string; isRequired: boolean }[] =>
  [...form.querySelectorAll('input, select, textarea')]
    .filter(
      (one): one is HTMLInputElement =>
        !one.matches('[type="hidden"], [readonly], [aria-hidden="true"], [type="radio"]'),
    )
    .map((one) => ({
      label: (one.labels?.[0]?.textContent ?? one.getAttribute('aria-label') ?? '').replace(/\s*\*$/, ''),
      isRequired: one.required,
    }));

async function openForm(
  t: TestContext,
  { path, fields, open = [], isLight = false }: FormCase,
): Promise<Locator> {
  const address = typeof path === 'string' ? path : await path();
  const { page } = await openAs(t, site, isLight ? '/docs/errors' : address);
  if (isLight) {
    await page.evaluate('localStorage.clear()');
    await page.context().clearCookies();
    await page.goto(address);
  }
  for (const step of open)
    await ('text' in step
      ? page.getByText(step.text, { exact: true })
      : page.getByRole(step.role, { name: step.name }).first()
    ).click();
  const [label = ''] = Object.keys(fields);
  const form = page.locator('form').filter({ has: page.getByLabel(label) });
  await form.first().waitFor();
  return form.last();
}

for (const form of forms)
  test(`the form "${form.what}" demands what the service demands`, async (t) => {
    const inputs = await (await openForm(t, form)).evaluate(inputsOf);
    const { body, fields, exceptions = {} } = form;
    const known = inputs.flatMap(({ label, isRequired }) => {
      const field = fields[label];
      assert.ok(field === undefined || field in body.properties, `${field} is no field of the body`);
      return field === undefined ? [] : [{ field, isRequired }];
    });
    assert.deepEqual(
      inputs.filter(({ label, isRequired }) => isRequired && !(label in fields)),
      [],
      'inputs that no field of the body stands for',
    );
    const demanded = known.filter(({ isRequired }) => isRequired).map(({ field }) => field);
    const needed = body.required ?? [];
    const differing = [
      ...demanded.filter((field) => !needed.includes(field)),
      ...needed.filter((field) => !demanded.includes(field)),
    ];
    assert.ok(known.length > 0, JSON.stringify(inputs));
    assert.deepEqual(differing.sort(), Object.keys(exceptions).sort(), JSON.stringify(inputs));
  });
