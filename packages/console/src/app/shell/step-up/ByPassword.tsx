// A proof by the password, for an account without a second factor.
import type { StepUp } from '@castellan/sdk';
import { type ReactElement, useEffect, useRef, useState } from 'react';
import { Form, fieldError } from '../../components/forms/forms.tsx';
import { PasswordField } from '../../components/forms/PasswordField.tsx';
import { useMe } from '../../data/me.tsx';
import { later } from '../../text.ts';
import { type Proving, useProof } from '../proofs/proving.ts';

export function ByPassword({ proving }: { proving: Proving<StepUp> }): ReactElement {
  const texts = later.secondFactors.stepUp;
  const { user } = useMe();
  const [password, setPassword] = useState('');
  const input = useRef<HTMLInputElement>(null);
  const { run, isPending, error } = useProof(proving);
  useEffect(() => input.current?.focus(), []);
  return (
    <Form
      onSubmit={() => run({ password })}
      isPending={isPending}
      error={error}
      fields={['password', 'current_password']}
      submitLabel={texts.confirm}
      onCancel={proving.onCancel}
      isDisabled={password === ''}
    >
      <input
        type="email"
        value={user.email}
        autoComplete="username"
        readOnly
        className="visually-hidden"
        tabIndex={-1}
        aria-hidden
      />
      <PasswordField
        ref={input}
        data-autofocus
        label={texts.password}
        autoComplete="current-password"
        value={password}
        error={fieldError(error, 'current_password') ?? fieldError(error, 'password')}
        onChange={(event) => setPassword(event.currentTarget.value)}
      />
    </Form>
  );
}
