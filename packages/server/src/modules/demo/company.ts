// The made-up company: its permissions, roles, departments and service accounts.
// It must not name a person, nor repeat a built-in permission.
import type { Row } from '../../schema/database.ts';
import type {
  KeptColumn,
  RoleColumn,
  RoleGroupColumn,
  ServiceAccountColumn,
} from '../../schema/record-columns.ts';

type PermissionGroup = {
  name: string;
  description: string;
  parent: string | null;
  actions: readonly string[];
};

/** Parents come before their children. */
export const permissionGroups: readonly PermissionGroup[] = [
  { name: 'commerce', description: 'What the company sells', parent: null, actions: [] },
  {
    name: 'orders',
    description: 'Orders of customers',
    parent: 'commerce',
    actions: ['read', 'create', 'update', 'cancel'],
  },
  {
    name: 'products',
    description: 'The product catalogue',
    parent: 'commerce',
    actions: ['read', 'update', 'publish'],
  },
  {
    name: 'stock',
    description: 'Goods in the warehouses',
    parent: 'commerce',
    actions: ['read', 'adjust', 'transfer'],
  },
  { name: 'billing', description: 'Money that comes in and goes out', parent: null, actions: [] },
  {
    name: 'invoices',
    description: 'Invoices to customers',
    parent: 'billing',
    actions: ['read', 'create', 'send', 'void'],
  },
  {
    name: 'payments',
    description: 'Payments and refunds',
    parent: 'billing',
    actions: ['read', 'capture', 'refund'],
  },
  {
    name: 'budgets',
    description: 'Budgets of departments',
    parent: 'billing',
    actions: ['read', 'plan', 'approve'],
  },
  {
    name: 'contracts',
    description: 'Contracts with suppliers and customers',
    parent: 'billing',
    actions: ['read', 'sign', 'terminate'],
  },
  { name: 'care', description: 'Working with customers', parent: null, actions: [] },
  {
    name: 'customers',
    description: 'Records of customers',
    parent: 'care',
    actions: ['read', 'update', 'merge', 'export'],
  },
  {
    name: 'tickets',
    description: 'Requests of customers',
    parent: 'care',
    actions: ['read', 'reply', 'assign', 'close'],
  },
  { name: 'technology', description: 'Running the systems', parent: null, actions: [] },
  {
    name: 'deployments',
    description: 'Releases to production',
    parent: 'technology',
    actions: ['read', 'start', 'approve', 'roll_back'],
  },
  {
    name: 'incidents',
    description: 'Disruptions and their repair',
    parent: 'technology',
    actions: ['read', 'open', 'resolve'],
  },
  {
    name: 'feature_flags',
    description: 'Switches of features',
    parent: 'technology',
    actions: ['read', 'toggle'],
  },
  {
    name: 'backups',
    description: 'Backups of the databases',
    parent: 'technology',
    actions: ['read', 'restore'],
  },
  { name: 'company', description: 'The company as a whole', parent: null, actions: [] },
  {
    name: 'reports',
    description: 'Figures and reports',
    parent: 'company',
    actions: ['read', 'schedule', 'export'],
  },
  {
    name: 'campaigns',
    description: 'Campaigns of marketing',
    parent: 'company',
    actions: ['read', 'create', 'send'],
  },
  {
    name: 'employees',
    description: 'Records of employees',
    parent: 'company',
    actions: ['read', 'update', 'onboard'],
  },
];

export const permissions = permissionGroups.flatMap(({ name: group, actions }) =>
  actions.map((action) => ({ group, name: `${group}.${action}` })),
);

/** What is written later: the id, references to other records, and what the database fills in. */
type Later = 'id' | 'created_by_id' | KeptColumn;
export type RoleGroup = Pick<Row<'role_groups'>, Exclude<RoleGroupColumn, 'parent_id' | Later>> & {
  parent: string | null;
};

/** Parents come before their children. */
export const roleGroups: readonly RoleGroup[] = [
  { name: 'Engineering', description: 'Builds and runs the product', parent: null },
  { name: 'Platform', description: 'Infrastructure and operations', parent: 'Engineering' },
  { name: 'Product development', description: 'Features of the product', parent: 'Engineering' },
  { name: 'Quality', description: 'Tests and releases', parent: 'Engineering' },
  { name: 'Customer success', description: 'Everything after the sale', parent: null },
  { name: 'Support', description: 'Answers to customers', parent: 'Customer success' },
  { name: 'Finance', description: 'Money and figures', parent: null },
  { name: 'Accounting', description: 'Books and invoices', parent: 'Finance' },
  { name: 'Procurement', description: 'Suppliers and contracts', parent: 'Finance' },
  { name: 'Security', description: 'Protection of people and data', parent: null },
  { name: 'Sales', description: 'Customers to be', parent: null },
  { name: 'People', description: 'Employees and applicants', parent: null },
];

export type Role = Pick<Row<'roles'>, Exclude<RoleColumn, 'is_system' | 'role_group_id' | Later>> & {
  group: string;
  permissions: readonly string[];
};

/** The role whose holders will need a second factor. */
export const guardedRole = 'Security analyst';

export const roles: readonly Role[] = [
  {
    name: 'Engineering manager',
    group: 'Engineering',
    description: 'Leads a team of engineers',
    permissions: [
      'deployments.read',
      'deployments.approve',
      'incidents.read',
      'feature_flags.read',
      'budgets.read',
      'reports.read',
      'users.read',
      'role.read',
    ],
  },
  {
    name: 'Platform engineer',
    group: 'Platform',
    description: 'Runs infrastructure and deployments',
    permissions: [
      'deployments.read',
      'deployments.start',
      'deployments.roll_back',
      'incidents.read',
      'incidents.open',
      'incidents.resolve',
      'feature_flags.read',
      'feature_flags.toggle',
      'backups.read',
    ],
  },
  {
    name: 'Site reliability engineer',
    group: 'Platform',
    description: 'Keeps the service up, around the clock',
    permissions: [
      'deployments.read',
      'deployments.roll_back',
      'incidents.read',
      'incidents.open',
      'incidents.resolve',
      'backups.read',
      'session.read',
    ],
  },
  {
    name: 'Software developer',
    group: 'Product development',
    description: 'Builds features',
    permissions: [
      'deployments.read',
      'feature_flags.read',
      'feature_flags.toggle',
      'incidents.read',
      'incidents.open',
      'orders.read',
      'products.read',
    ],
  },
  {
    name: 'Quality engineer',
    group: 'Quality',
    description: 'Tests releases and approves them',
    permissions: [
      'deployments.read',
      'deployments.approve',
      'incidents.read',
      'incidents.open',
      'feature_flags.read',
      'orders.read',
      'products.read',
    ],
  },
  {
    name: 'Customer success manager',
    group: 'Customer success',
    description: 'Responsible for a group of customers',
    permissions: [
      'customers.read',
      'customers.update',
      'customers.merge',
      'customers.export',
      'tickets.read',
      'tickets.assign',
      'orders.read',
      'contracts.read',
      'invoices.read',
      'reports.read',
    ],
  },
  {
    name: 'Support agent',
    group: 'Support',
    description: 'Answers requests of customers',
    permissions: [
      'tickets.read',
      'tickets.reply',
      'tickets.close',
      'customers.read',
      'orders.read',
      'products.read',
      'invoices.read',
    ],
  },
  {
    name: 'Support lead',
    group: 'Support',
    description: 'Distributes requests and grants refunds',
    permissions: [
      'tickets.read',
      'tickets.reply',
      'tickets.assign',
      'tickets.close',
      'customers.read',
      'customers.update',
      'orders.read',
      'orders.cancel',
      'payments.read',
      'payments.refund',
    ],
  },
  {
    name: 'Finance controller',
    group: 'Finance',
    description: 'Plans budgets and reports figures',
    permissions: [
      'budgets.read',
      'budgets.plan',
      'budgets.approve',
      'invoices.read',
      'payments.read',
      'contracts.read',
      'reports.read',
      'reports.schedule',
      'reports.export',
    ],
  },
  {
    name: 'Accountant',
    group: 'Accounting',
    description: 'Writes invoices and books payments',
    permissions: [
      'invoices.read',
      'invoices.create',
      'invoices.send',
      'invoices.void',
      'payments.read',
      'payments.capture',
      'orders.read',
      'customers.read',
      'reports.read',
    ],
  },
  {
    name: 'Buyer',
    group: 'Procurement',
    description: 'Orders goods and signs contracts with suppliers',
    permissions: [
      'contracts.read',
      'contracts.sign',
      'stock.read',
      'stock.adjust',
      'stock.transfer',
      'products.read',
      'budgets.read',
    ],
  },
  {
    name: 'Security analyst',
    group: 'Security',
    description: 'Reviews access and investigates incidents',
    permissions: [
      'audit_log.read',
      'session.read',
      'session.revoke',
      'users.read',
      'user.read',
      'role.read',
      'role_group.read',
      'permission.read',
      'permission_group.read',
      'access.explain',
      'incidents.read',
      'incidents.open',
    ],
  },
  {
    name: 'Sales representative',
    group: 'Sales',
    description: 'Sells to customers',
    permissions: [
      'customers.read',
      'customers.update',
      'orders.read',
      'orders.create',
      'orders.update',
      'products.read',
      'contracts.read',
      'campaigns.read',
      'campaigns.create',
      'campaigns.send',
    ],
  },
  {
    name: 'People partner',
    group: 'People',
    description: 'Looks after employees from the first day to the last',
    permissions: [
      'employees.read',
      'employees.update',
      'employees.onboard',
      'user_attribute.read',
      'users.read',
      'users.create',
      'users.update',
      'user.read',
      'contracts.read',
    ],
  },
  {
    name: 'External auditor',
    group: 'Finance',
    description: 'Reads figures during the yearly audit; nobody has it outside that time',
    permissions: [
      'invoices.read',
      'payments.read',
      'budgets.read',
      'contracts.read',
      'reports.read',
      'audit_log.read',
    ],
  },
];

/** Departments by size. `lead`: the role of one in ten. */
export const departments: readonly { weight: number; roles: readonly string[]; lead: string }[] = [
  { weight: 16, roles: ['Software developer'], lead: 'Engineering manager' },
  { weight: 9, roles: ['Platform engineer', 'Site reliability engineer'], lead: 'Engineering manager' },
  { weight: 5, roles: ['Quality engineer'], lead: 'Engineering manager' },
  { weight: 26, roles: ['Support agent'], lead: 'Support lead' },
  { weight: 8, roles: ['Customer success manager'], lead: 'Customer success manager' },
  { weight: 9, roles: ['Accountant', 'Buyer'], lead: 'Finance controller' },
  { weight: 18, roles: ['Sales representative'], lead: 'Sales representative' },
  { weight: 4, roles: ['People partner'], lead: 'People partner' },
  { weight: 5, roles: ['Security analyst'], lead: 'Security analyst' },
];

export type ServiceAccount = Pick<
  Row<'service_accounts'>,
  Exclude<ServiceAccountColumn, 'external_id' | 'last_used_at' | Later>
> & { roles: readonly string[] };

/** Without keys: a person who wants one creates it. */
export const serviceAccounts: readonly ServiceAccount[] = [
  {
    name: 'orders-api',
    description: 'Asks whether a caller may do something',
    is_active: true,
    roles: ['Service'],
  },
  { name: 'billing-worker', description: 'Sends invoices at night', is_active: true, roles: ['Accountant'] },
  {
    name: 'report-scheduler',
    description: 'Writes the weekly reports',
    is_active: true,
    roles: ['Finance controller'],
  },
  {
    name: 'deploy-pipeline',
    description: 'Releases what was approved',
    is_active: true,
    roles: ['Platform engineer', 'Service'],
  },
  {
    name: 'helpdesk-import',
    description: 'Imported the former help desk; no longer used',
    is_active: false,
    roles: ['Support agent'],
  },
];
