// Asks for a new email address. It counts once its mailbox confirms it: until then, the page shows the present one.
import { Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { Form, fieldError } from '../../components/forms/forms.tsx';
import { call, useWrite } from '../../data/api.ts';
import { useMe } from '../../data/me.tsx';
import { later, t } from '../../text.ts';

export function ChangeEmail({ onClose }: { onClose: () => void }): ReactElement {
  const texts = later.emailChange;
  const { user } = useMe();
  const [email, setEmail] = useState('');
  const [sentTo, setSentTo] = useState<string | null>(null);
  // The proof of who asks is the step-up, which opens over this dialog: the account may have no password to ask for.
  const write = useWrite(
    (new_email: string) => call('POST /api/v1/users/me/email', { body: { new_email } }),
    (_, new_email) => setSentTo(new_email),
  );
  return (
    <Modal
      opened
      onClose={onClose}
      title={texts.title}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      {sentTo === null ? (
        <Form
          onSubmit={() => write.run(email.trim())}
          isPending={write.isPending}
          error={write.error}
          fields={['new_email']}
          submitLabel={texts.submit}
          isDisabled={email.trim() === '' || email.trim().toLowerCase() === user.email}
          onCancel={onClose}
        >
          <p>{texts.text(user.email)}</p>
          <TextInput
            label={texts.field}
            type="email"
            required
            autoComplete="email"
            data-autofocus
            value={email}
            error={fieldError(write.error, 'new_email')}
            onChange={(event) => setEmail(event.currentTarget.value)}
          />
          <p className="muted">{texts.help}</p>
        </Form>
      ) : (
        <Stack gap="sm">
          <p role="status">{texts.sent(sentTo)}</p>
          <p className="muted">{texts.next}</p>
          <Group justify="flex-end">
            <Button onClick={onClose} data-autofocus>
              {t.common.actions.close}
            </Button>
          </Group>
        </Stack>
      )}
    </Modal>
  );
}
