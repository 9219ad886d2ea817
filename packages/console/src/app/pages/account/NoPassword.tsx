// Says that the account has no password, and offers the mail by which it gets one.
import { Button } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { ErrorAlert } from '../../components/page/states.tsx';
import { useWrite } from '../../data/api.ts';
import { auth } from '../../data/auth.ts';
import { useMe } from '../../data/me.tsx';
import { later } from '../../text.ts';

export function NoPassword(): ReactElement {
  const texts = later.identities.noPassword;
  const { user } = useMe();
  const [isSent, setSent] = useState(false);
  const write = useWrite(
    () => auth.requestPasswordReset(user.email),
    () => setSent(true),
  );
  return (
    <>
      <p>{texts.text}</p>
      <p className="muted">{texts.want}</p>
      {Boolean(write.error) && <ErrorAlert error={write.error} />}
      <p role="status">{isSent && texts.sent}</p>
      {!isSent && (
        <Button
          variant="default"
          className="no-password"
          loading={write.isPending}
          onClick={() => write.run(undefined)}
        >
          {texts.send}
        </Button>
      )}
    </>
  );
}
