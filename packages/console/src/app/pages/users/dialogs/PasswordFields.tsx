// A first or new password: generated, or typed with the rules of the policy beside it.

import { Button, CopyButton, SegmentedControl, Switch, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useId } from 'react';
import { PasswordChecklist } from '../../../../common/PasswordChecklist.tsx';
import { fieldError } from '../../../components/forms/forms.tsx';
import { PasswordField } from '../../../components/forms/PasswordField.tsx';
import { ReadErrors } from '../../../components/page/states.tsx';
import { reading } from '../../../data/api.ts';
import { failureOf } from '../../../data/errors.ts';
import { t } from '../../../text.ts';
import { makePassword } from './password.ts';

export type PasswordChoice = { mode: 'generated' | 'typed'; password: string; mustChange: boolean };

export const generatedChoice = (): PasswordChoice => ({
  mode: 'generated',
  password: makePassword(),
  mustChange: true,
});

type Props = {
  choice: PasswordChoice;
  onChange: (choice: PasswordChoice) => void;
  error: unknown;
  /** The password that `error` is about. */
  sent: string | null;
};

export function PasswordFields({ choice, onChange, error, sent }: Props): ReactElement {
  const id = useId();
  const policy = useQuery(reading('GET /api/v1/auth/password-policy', {}));
  const refused = error && sent === choice.password ? failureOf(error).reasons : [];
  const setMode = (mode: string): void =>
    onChange(
      mode === 'generated'
        ? { ...choice, mode: 'generated', password: makePassword() }
        : { ...choice, mode: 'typed', password: '' },
    );
  return (
    <div className="password-fields">
      <SegmentedControl
        aria-label={t.users.password.kind}
        value={choice.mode}
        onChange={setMode}
        data={[
          { value: 'generated', label: t.users.password.generated },
          { value: 'typed', label: t.users.password.typed },
        ]}
      />
      {choice.mode === 'generated' ? (
        <SecretField label={t.users.password.label} value={choice.password} note={t.users.password.once} />
      ) : (
        <>
          <PasswordField
            label={t.users.password.label}
            autoComplete="new-password"
            value={choice.password}
            aria-describedby={id}
            error={fieldError(error, 'password') ?? (refused.length > 0 ? t.users.password.refused : null)}
            onChange={(event) => onChange({ ...choice, password: event.currentTarget.value })}
          />
          <ReadErrors of={[policy]} />
          <PasswordChecklist
            id={id}
            rules={policy.data?.data.rules ?? []}
            password={choice.password}
            refused={refused}
            texts={t.common.password}
          />
        </>
      )}
      <Switch
        label={t.users.fields.must_change_password}
        description={t.users.fieldHelp.must_change_password}
        checked={choice.mustChange}
        onChange={(event) => onChange({ ...choice, mustChange: event.currentTarget.checked })}
      />
    </div>
  );
}

/** A secret that is shown once, with a button that copies it. */
export const SecretField = ({
  label,
  value,
  note,
}: {
  label: string;
  value: string;
  note: string;
}): ReactElement => (
  <div className="secret-field">
    <TextInput label={label} description={note} value={value} readOnly classNames={{ input: 'mono' }} />
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <Button variant="default" onClick={copy}>
          {copied ? t.common.actions.copied : t.common.actions.copy}
        </Button>
      )}
    </CopyButton>
  </div>
);
