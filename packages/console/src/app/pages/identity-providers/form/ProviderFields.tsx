// All fields that a kind of provider has, in groups, with a warning beside each that trusts the provider.
import { IconAlertTriangle } from '@tabler/icons-react';
import { Fragment, type ReactElement, type ReactNode } from 'react';
import { failureOf } from '../../../data/errors.ts';
import type { ProviderField } from '../../../data/form-fields.ts';
import { later } from '../../../text.ts';
import { trustsIn } from '../happens.ts';
import { FieldInput } from './FieldInput.tsx';
import { fieldNames, groups, hasField, inputs, type ProviderKind } from './fields.ts';
import { type FormValues, faultOf, rulesIn } from './values.ts';

type Props = {
  kind: ProviderKind;
  values: FormValues;
  /** Fields whose texts cannot be sent are told once the form was sent. */
  isChecked: boolean;
  error: unknown;
  isReadOnly: boolean;
  hasSecret: boolean | null;
  onChange: (name: ProviderField, value: string | boolean) => void;
  /** What stands first in the group about the provider. */
  first?: ReactNode;
};

/** Without these, the service has no provider. */
const required: ReadonlySet<ProviderField> = new Set(['name', 'issuer', 'client_id', 'team_id', 'key_id']);

/** Whether the field means anything with the other values. */
function isMeant(kind: ProviderKind, values: FormValues, name: ProviderField): boolean {
  if (!hasField(kind, name)) return false;
  if (name === 'client_secret') return values.client_auth !== 'none';
  if (name === 'connect') return values.email_trust === 'domains' || values.connect === 'trusted';
  if (name === 'mapping') return rulesIn(values.role_mapping).length > 0 || values.mapping !== 'creation';
  return true;
}

export function ProviderFields({ kind, values, isChecked, error, first, ...rest }: Props): ReactElement {
  const texts = later.identityProviders;
  const trusts = trustsIn({ kind, values });
  const errorAt = (name: ProviderField): string | null => {
    const fault = isChecked ? faultOf(name, values[name]) : null;
    return fault ? texts.faults[fault] : serviceError(error, name);
  };
  // Some kinds have nothing to say about signing out.
  const meant = groups
    .map(({ key, fields }) => ({
      key,
      fields: fields.filter((name: ProviderField) => isMeant(kind, values, name)),
    }))
    .filter(({ fields }) => fields.length > 0);
  return (
    <>
      {meant.map(({ key, fields }) => (
        <fieldset key={key} className="panel settings-group">
          <legend className="section-title">{texts.groups[key]}</legend>
          {key === 'about' && first}
          {fields.map((name) => (
            <Fragment key={name}>
              <FieldInput
                name={name}
                value={values[name]}
                error={errorAt(name)}
                isReadOnly={rest.isReadOnly}
                isRequired={required.has(name)}
                hasSecret={rest.hasSecret}
                onChange={(value) => rest.onChange(name, value)}
              />
              {trusts
                .filter(({ field }) => field === name)
                .map(({ trust }) => (
                  <Warning key={trust}>{texts.trusts[trust]}</Warning>
                ))}
            </Fragment>
          ))}
        </fieldset>
      ))}
    </>
  );
}

export const Warning = ({ children }: { children: string }): ReactElement => (
  <p className="note note-warn">
    <IconAlertTriangle size={18} aria-hidden />
    <span>{children}</span>
  </p>
);

/** Whether all that the service needs is typed. */
export const isWhole = (kind: ProviderKind, values: FormValues): boolean =>
  fieldNames.every(
    (name) => !required.has(name) || !hasField(kind, name) || String(values[name]).trim() !== '',
  );

/** Whether the service means this field, or something in it: `domains.2`, `role_mapping.0.role_id`. */
const isOf = (field: string, name: string): boolean => field === name || field.startsWith(`${name}.`);

/** Returns what the service says about the field, with the number of the line or rule. */
function serviceError(error: unknown, name: ProviderField): string | null {
  if (!error) return null;
  const found = [...failureOf(error).fields].find(([field]) => isOf(field, name));
  if (!found) return null;
  const [field, message] = found;
  const [at, ...members] = field.slice(name.length + 1).split('.');
  if (!at) return message;
  const texts = later.identityProviders;
  const number = Number(at) + 1;
  if (inputs[name] === 'mapping' && number > 0) return texts.inRule(number, [...members, message].join(': '));
  return number > 0 ? texts.inLine(number, message) : `${at}: ${message}`;
}

/** The fields of an error that show in the form. */
export const namedFields = (error: unknown, others: readonly string[] = []): string[] =>
  error
    ? [...failureOf(error).fields.keys()].filter((field) =>
        [...fieldNames, ...others].some((name) => isOf(field, name)),
      )
    : [];
