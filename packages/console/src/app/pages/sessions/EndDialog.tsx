// Ends one session, all sessions of a person, or all that match the filters. The number to be ended is typed.
import type { UserSession } from '@castellan/sdk';
import { Radio, Stack, TextInput } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { formatNumber } from '../../../common/format.ts';
import { ConfirmDialog } from '../../components/dialogs/ConfirmDialog.tsx';
import { notifyDone } from '../../components/page/notify.tsx';
import { sessionName } from '../../components/sessions/names.ts';
import { call, useWrite } from '../../data/api.ts';
import { nameOf } from '../../data/me.tsx';
import { t } from '../../text.ts';
import type { SessionFilter } from './search.ts';

export type Ending =
  | { kind: 'one'; session: UserSession }
  | { kind: 'matching'; filter: SessionFilter; total: number };

type Props = { ending: Ending; onClose: () => void };

export function EndDialog({ ending, onClose }: Props): ReactElement {
  if (ending.kind === 'one') return <EndOne session={ending.session} onClose={onClose} />;
  return <EndMatching filter={ending.filter} total={ending.total} onClose={onClose} />;
}

export const endSession = (id: string) =>
  call('DELETE /api/v1/sessions/{session_id}', { path: { session_id: id } });

type OneProps = { session: UserSession; onClose: () => void };

function EndOne({ session, onClose }: OneProps): ReactElement {
  const [scope, setScope] = useState<'one' | 'person'>('one');
  const write = useWrite(
    async (): Promise<string> => {
      if (scope === 'one') {
        await endSession(session.id);
        return t.sessions.ended;
      }
      const { data } = await call('DELETE /api/v1/sessions', { query: { user_id: session.user.id } });
      return t.sessions.endedMany(data.sessions, data.users);
    },
    (message) => {
      onClose();
      notifyDone(message);
    },
  );
  return (
    <ConfirmDialog
      title={t.sessions.askOne(sessionName(session))}
      confirmLabel={t.sessions.end}
      isDangerous
      isPending={write.isPending}
      error={write.error}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
    >
      <p>{session.current ? t.sessions.explainOwn : t.sessions.explainOne}</p>
      <Radio.Group
        label={t.sessions.scope}
        value={scope}
        onChange={(value) => setScope(value === 'person' ? 'person' : 'one')}
      >
        <Stack gap={6} mt={6}>
          <Radio value="one" label={t.sessions.scopeOne} />
          <Radio value="person" label={t.sessions.scopePerson(nameOf(session.user))} />
        </Stack>
      </Radio.Group>
    </ConfirmDialog>
  );
}

type MatchingProps = { filter: SessionFilter; total: number; onClose: () => void };

function EndMatching({ filter, total, onClose }: MatchingProps): ReactElement {
  const [typed, setTyped] = useState('');
  const write = useWrite(
    () => call('DELETE /api/v1/sessions', { query: filter }),
    ({ data }) => {
      onClose();
      notifyDone(t.sessions.endedMany(data.sessions, data.users));
    },
  );
  return (
    <ConfirmDialog
      title={t.sessions.askMatching(total)}
      confirmLabel={t.sessions.endMatching(total)}
      isDangerous
      isPending={write.isPending}
      isDisabled={typed.replaceAll(/\D/g, '') !== String(total)}
      error={write.error}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
    >
      <p>{t.sessions.explainMatching}</p>
      <TextInput
        label={t.common.confirm.typeCount(formatNumber(total))}
        inputMode="numeric"
        autoComplete="off"
        data-autofocus
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
    </ConfirmDialog>
  );
}
