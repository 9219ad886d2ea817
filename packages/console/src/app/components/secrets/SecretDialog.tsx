// Shows a new secret, once, such as an API key. It must not be stored or logged anywhere in the page.
import { Button, Checkbox, CopyButton, Group, Modal, Stack } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { t } from '../../text.ts';
import './secrets.css';

type Props = {
  /** Null if the response that had it was lost. */
  secret: string | null;
  name: string;
  texts: { title: string; text: string; lost: string };
  onClose: () => void;
};

/** Closes only after the person has said that the secret is stored. */
export function SecretDialog({ secret, name, texts, onClose }: Props): ReactElement {
  const { stored, done } = t.serviceAccounts.secret;
  const [isStored, setStored] = useState(secret === null);
  return (
    <Modal
      opened
      onClose={() => {
        if (isStored) onClose();
      }}
      withCloseButton={false}
      closeOnClickOutside={false}
      title={texts.title}
      size="lg"
    >
      <Stack gap="sm">
        <p>{secret === null ? texts.lost : texts.text}</p>
        {secret !== null && (
          <>
            <p>
              <strong data-raw>{name}</strong>
            </p>
            <code className="mono secret" data-testid="secret">
              {secret}
            </code>
            <CopyButton value={secret}>
              {({ copied, copy }) => (
                <Button variant="default" onClick={copy} data-autofocus>
                  {copied ? t.common.actions.copied : t.common.actions.copy}
                </Button>
              )}
            </CopyButton>
            <Checkbox
              label={stored}
              checked={isStored}
              onChange={(event) => setStored(event.currentTarget.checked)}
            />
          </>
        )}
        <Group justify="flex-end">
          <Button disabled={!isStored} onClick={onClose}>
            {done}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
