// Changes one's own password. The service ends every other session.

import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useId, useState } from 'react';
import { PasswordChecklist } from '../../../common/PasswordChecklist.tsx';
import { Form, fieldError } from '../../components/forms/forms.tsx';
import { PasswordField } from '../../components/forms/PasswordField.tsx';
import { notifyDone } from '../../components/page/notify.tsx';
import { ReadErrors } from '../../components/page/states.tsx';
import { reading, useWrite } from '../../data/api.ts';
import { auth } from '../../data/auth.ts';
import { failureOf } from '../../data/errors.ts';
import { useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';

export function Password(): ReactElement {
  const me = useMe();
  const texts = t.account.password;
  const id = useId();
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const [sent, setSent] = useState('');
  const policy = useQuery(reading('GET /api/v1/auth/password-policy', {}));
  const write = useWrite(
    (passwords: { current_password: string; new_password: string }) => auth.changePassword(passwords),
    () => {
      setCurrent('');
      setNext('');
      notifyDone(texts.changed);
      void me.reload();
    },
  );
  const refused = write.error && sent === next ? failureOf(write.error).reasons : [];
  return (
    <Form
      onSubmit={() => {
        setSent(next);
        write.run({ current_password: current, new_password: next });
      }}
      isPending={write.isPending}
      error={write.error}
      fields={['current_password', 'new_password']}
      submitLabel={texts.submit}
      isDisabled={current === '' || next === ''}
    >
      <input
        type="email"
        value={me.user.email}
        autoComplete="username"
        readOnly
        className="visually-hidden"
        tabIndex={-1}
        aria-hidden
      />
      <PasswordField
        label={texts.current}
        autoComplete="current-password"
        value={current}
        error={fieldError(write.error, 'current_password')}
        onChange={(event) => setCurrent(event.currentTarget.value)}
      />
      <PasswordField
        label={texts.next}
        autoComplete="new-password"
        value={next}
        error={fieldError(write.error, 'new_password') ?? refused.length > 0}
        aria-describedby={`${id}-rules`}
        onChange={(event) => setNext(event.currentTarget.value)}
      />
      <ReadErrors of={[policy]} />
      <PasswordChecklist
        id={`${id}-rules`}
        rules={policy.data?.data.rules ?? []}
        password={next}
        refused={refused}
        texts={t.common.password}
      />
      <p className="muted">{texts.help}</p>
    </Form>
  );
}
