// One's own data as a file, and the deletion of one's own account where the service allows it.
import { Button, Group, Modal, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { formatDay } from '../../../common/format.ts';
import { addressOf, pageSettings } from '../../../common/page-settings.ts';
import { saveBlob } from '../../../common/save-blob.ts';
import { ConfirmDialog } from '../../components/dialogs/ConfirmDialog.tsx';
import { fieldError } from '../../components/forms/forms.tsx';
import { PasswordField } from '../../components/forms/PasswordField.tsx';
import { notifyDone, notifyFailure } from '../../components/page/notify.tsx';
import { ReadErrors } from '../../components/page/states.tsx';
import { call } from '../../data/api.ts';
import { ownIdentities } from '../../data/identities/own-identities.ts';
import { wasDeclined } from '../../data/second-factors/step-up.ts';
import { later, t } from '../../text.ts';

const FILE = 'my-data.json';
const INDENT = 2;

export function MyData({ titleId }: { titleId: string }): ReactElement {
  const texts = later.leaving;
  const [isLoading, setLoading] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const [due, setDue] = useState<string | null>(null);
  const days = pageSettings.selfDeletionDays;
  const download = async (): Promise<void> => {
    setLoading(true);
    try {
      const { data } = await call('GET /api/v1/users/me/export', { timeoutMs: Number.POSITIVE_INFINITY });
      const text = JSON.stringify(data, null, INDENT);
      saveBlob(new Blob([text], { type: 'application/json' }), FILE);
      notifyDone(t.audit.export.done(FILE));
    } catch (error) {
      notifyFailure(error);
    } finally {
      setLoading(false);
    }
  };
  return (
    <>
      <h2 className="section-title" id={titleId}>
        {texts.title}
      </h2>
      <p className="muted">{texts.text}</p>
      <Group gap="xs">
        <Button variant="default" loading={isLoading} onClick={() => void download()}>
          {texts.download}
        </Button>
        {days !== null && (
          <Button variant="default" color="red" onClick={() => setAsking(true)}>
            {texts.remove}
          </Button>
        )}
      </Group>
      {isAsking && days !== null && (
        <AskDialog days={days} onClose={() => setAsking(false)} onDone={setDue} />
      )}
      {due !== null && <Gone due={due} />}
    </>
  );
}

type AskProps = { days: number; onClose: () => void; onDone: (due: string) => void };

/** The account is gone with the answer: nothing is read again. */
function AskDialog({ days, onClose, onDone }: AskProps): ReactElement {
  const texts = later.leaving;
  const identities = useQuery(ownIdentities);
  const hasPassword = identities.data?.data.has_password !== false;
  const [password, setPassword] = useState('');
  const [isPending, setPending] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const remove = async (): Promise<void> => {
    setPending(true);
    setError(null);
    try {
      const { data } = await call('DELETE /api/v1/users/me', {
        body: hasPassword ? { current_password: password } : {},
      });
      onClose();
      onDone(data.deletion_due_at);
    } catch (failure) {
      if (!wasDeclined(failure)) setError(failure);
      setPending(false);
    }
  };
  return (
    <ConfirmDialog
      title={texts.ask}
      confirmLabel={texts.remove}
      isDangerous
      isPending={isPending}
      isDisabled={hasPassword && password === ''}
      error={error}
      fields={['current_password']}
      onConfirm={() => void remove()}
      onClose={onClose}
    >
      <p>{texts.atOnce}</p>
      <p>{texts.keep(days)}</p>
      <ReadErrors of={[identities]} />
      {hasPassword && (
        <PasswordField
          label={texts.password}
          autoComplete="current-password"
          value={password}
          error={fieldError(error, 'current_password')}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
      )}
    </ConfirmDialog>
  );
}

/** There is no way back to the page: its session has ended. */
function Gone({ due }: { due: string }): ReactElement {
  const texts = later.leaving;
  const leave = (): void => location.replace(addressOf('/login'));
  return (
    <Modal opened onClose={leave} title={texts.gone} withCloseButton={false} size="lg">
      <Stack gap="sm">
        <p role="status">{texts.goneText(formatDay(due))}</p>
        <Group justify="flex-end">
          <Button onClick={leave} data-autofocus>
            {texts.onward}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
