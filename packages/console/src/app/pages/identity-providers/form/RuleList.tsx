// The rules that give roles by claims: a claim, a value, a role.
import { ActionIcon, Button, Input, Select, TextInput } from '@mantine/core';
import { IconPlus, IconX } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useId } from 'react';
import { ReadErrors } from '../../../components/page/states.tsx';
import { allRoleNames } from '../../../data/catalogue.ts';
import { useCan } from '../../../data/me.tsx';
import { later, t } from '../../../text.ts';
import { type Rule, rulesIn, rulesText } from './values.ts';

type Props = {
  label: string;
  description: string;
  error: string | null;
  value: string;
  isReadOnly: boolean;
  onChange: (value: string) => void;
};

/** The service takes no more. */
const MOST_RULES = 200;

export function RuleList({ label, description, error, value, isReadOnly, onChange }: Props): ReactElement {
  const texts = later.identityProviders.rules;
  const id = useId();
  const mayRead = useCan('role.read');
  const rules = rulesIn(value);
  const roles = useQuery({ ...allRoleNames, enabled: mayRead });
  const data = roles.data?.map(({ id: value, name }) => ({ value, label: name })) ?? [];
  const set = (index: number, change: Partial<Rule>): void =>
    onChange(rulesText(rules.map((rule, at) => (at === index ? { ...rule, ...change } : rule))));
  return (
    <Input.Wrapper
      label={label}
      labelElement="div"
      labelProps={{ id }}
      description={mayRead ? description : t.common.forbidden.reason('role.read')}
      error={error}
    >
      <ReadErrors of={[roles]} />
      {rules.length > 0 && (
        <ol className="rules" aria-labelledby={id}>
          {rules.map((rule, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rules have no other name, and each is a separate input
            <li key={index} aria-label={texts.label(index + 1)}>
              <TextInput
                aria-label={texts.claim}
                placeholder={texts.claim}
                value={rule.claim}
                readOnly={isReadOnly}
                autoComplete="off"
                spellCheck={false}
                data-raw
                onChange={(event) => set(index, { claim: event.currentTarget.value })}
              />
              <TextInput
                aria-label={texts.equals}
                placeholder={texts.equals}
                value={rule.equals}
                readOnly={isReadOnly}
                autoComplete="off"
                spellCheck={false}
                data-raw
                onChange={(event) => set(index, { equals: event.currentTarget.value })}
              />
              <Select
                aria-label={texts.role}
                placeholder={texts.role}
                value={rule.role_id || null}
                data={
                  data.some((one) => one.value === rule.role_id) || rule.role_id === ''
                    ? data
                    : [...data, { value: rule.role_id, label: rule.role_id }]
                }
                disabled={isReadOnly || !mayRead}
                searchable
                allowDeselect={false}
                data-raw
                onChange={(role) => set(index, { role_id: role ?? '' })}
              />
              {!isReadOnly && (
                <ActionIcon
                  variant="default"
                  size="lg"
                  aria-label={texts.remove(index + 1)}
                  onClick={() => onChange(rulesText(rules.filter((_rule, at) => at !== index)))}
                >
                  <IconX size={16} aria-hidden />
                </ActionIcon>
              )}
            </li>
          ))}
        </ol>
      )}
      {!isReadOnly && rules.length < MOST_RULES && (
        <Button
          variant="default"
          size="xs"
          leftSection={<IconPlus size={14} aria-hidden />}
          onClick={() => onChange(rulesText([...rules, { claim: '', equals: '', role_id: '' }]))}
        >
          {texts.add}
        </Button>
      )}
    </Input.Wrapper>
  );
}
