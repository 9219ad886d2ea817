// What a provider's settings do to whom, in sentences, and what they trust the provider with.
// It must follow from the settings alone: the form shows it before anything is saved.
import type { ProviderField } from '../../data/form-fields.ts';
import type { LaterMessages } from '../../messages/en/later.ts';
import { hasField, type ProviderKind } from './form/fields.ts';
import { type FormValues, idsIn, linesIn, rulesIn } from './form/values.ts';

type Texts = LaterMessages['identityProviders']['happens'];

export type Happening = {
  who: string;
  what: readonly string[];
};

export type Settings = { kind: ProviderKind; values: FormValues };

/** Returns who comes, and what then happens, for every kind of person that the settings tell apart. */
export function happenings({ kind, values }: Settings, texts: Texts): Happening[] {
  const name = String(values.name).trim() || texts.unnamed;
  const domains = linesIn(values.domains).join(', ') || texts.noDomains;
  const levels = linesIn(values.acr_mapping).join(', ');
  const trusts = values.email_trust === 'domains';
  const made = idsIn(values.role_ids).length === 0 ? texts.made : texts.madeWithRoles;
  /** When nobody here has the address. */
  const newcomer = {
    none: texts.ask,
    domains: texts.madeFor(domains, made),
    everyone: made,
  }[String(values.sign_up)];
  const trustedNewcomer = values.sign_up === 'none' ? texts.ask : made;
  const all: (Happening | null)[] = [
    {
      who: texts.connected,
      what: [
        texts.isSignedIn,
        values.allow_superusers === true ? texts.superusersToo : texts.noSuperusers,
        levels !== '' && hasField(kind, 'acr_mapping') ? texts.factorUnless(name, levels) : texts.factor,
        ...(values.sync_names === true && hasField(kind, 'sync_names') ? [texts.names(name)] : []),
      ],
    },
    kind === 'microsoft' && linesIn(values.tenants).length > 0
      ? { who: texts.otherTenant, what: [texts.refused] }
      : null,
    trusts
      ? {
          who: texts.trusted(domains, name),
          what: [
            `${texts.noAccount} ${trustedNewcomer}`,
            `${texts.unverified} ${texts.takesOver}`,
            `${texts.verified} ${values.connect === 'trusted' ? texts.connectsAtOnce : texts.confirms}`,
          ],
        }
      : null,
    {
      who: trusts ? texts.others : texts.everyone,
      what: [
        texts.code,
        `${texts.noAccount} ${newcomer ?? texts.ask}`,
        `${texts.unverified} ${texts.takesOver}`,
        `${texts.verified} ${texts.mail}`,
      ],
    },
    values.required_for_domains === true
      ? { who: texts.inDomains(domains), what: [texts.onlyWay(name)] }
      : null,
    hasField(kind, 'role_mapping') && rulesIn(values.role_mapping).length > 0
      ? {
          who: texts.mapped,
          what: values.mapping === 'every_sign_in' ? [texts.everySignIn, texts.missingClaim] : [texts.once],
        }
      : null,
    {
      who: texts.leaving,
      what: [
        values.logout === 'upstream' && hasField(kind, 'logout') ? texts.upstream(name) : texts.here(name),
      ],
    },
    values.is_shown === true ? null : { who: texts.visitors, what: [texts.hidden] },
  ];
  return all.filter((one) => one !== null);
}

export type Trust = keyof LaterMessages['identityProviders']['trusts'];

/** The field beside which each warning stands. */
const fieldOf = {
  email_trust: 'email_trust',
  connect: 'connect',
  sign_up: 'sign_up',
  required: 'required_for_domains',
  allow_superusers: 'allow_superusers',
  role_mapping: 'role_mapping',
  acr_mapping: 'acr_mapping',
  extra_parameters: 'extra_parameters',
} as const satisfies Record<Trust, ProviderField>;

/** Whether a value gives the provider more than the defaults do. */
const trusting: Readonly<Record<Trust, (value: string | boolean) => boolean>> = {
  email_trust: (value) => value === 'domains',
  connect: (value) => value === 'trusted',
  sign_up: (value) => value === 'everyone',
  required: (value) => value === true,
  allow_superusers: (value) => value === true,
  role_mapping: (value) => rulesIn(value).length > 0,
  acr_mapping: (value) => linesIn(value).length > 0,
  extra_parameters: (value) => linesIn(value).length > 0,
};

/** Returns the warnings, each with its field. */
export const trustsIn = ({ kind, values }: Settings): { trust: Trust; field: ProviderField }[] =>
  (Object.keys(fieldOf) as Trust[])
    .map((trust) => ({ trust, field: fieldOf[trust] }))
    .filter(({ trust, field }) => hasField(kind, field) && trusting[trust](values[field]));
