// One's own live sessions: end one, or all others.
import type { Session } from '@castellan/sdk';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { client } from '../../../common/client.ts';
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx';
import { notifyDone, notifyFailure } from '../../components/notify.tsx';
import { SessionList } from '../../components/SessionList.tsx';
import { ErrorAlert } from '../../components/states.tsx';
import { call, reading, useWrite } from '../../data/api.ts';
import { isCode } from '../../data/errors.ts';
import { t } from '../../text.ts';

/** A session that has ended by itself meanwhile is as good as ended. */
async function endSession({ id }: Session): Promise<void> {
  try {
    await call('DELETE /api/v1/auth/sessions/{session_id}', { path: { session_id: id } });
  } catch (error) {
    if (!isCode(error, 'session_not_found')) throw error;
  }
}

export function MySessions({ titleId }: { titleId: string }): ReactElement {
  const texts = t.account.sessions;
  const [asked, setAsked] = useState<'this' | 'others' | null>(null);
  const query = useQuery(reading('GET /api/v1/auth/sessions', {}));
  const sessions = query.data?.data;
  const others = (sessions ?? []).filter(({ current }) => !current);
  const one = useWrite(endSession, () => notifyDone(texts.ended));
  const all = useWrite(
    async (ended: readonly Session[]) => {
      for (const session of ended) await endSession(session);
    },
    (_nothing, ended) => {
      setAsked(null);
      notifyDone(texts.endedOthers(ended.length));
    },
  );
  const end = (session: Session): void => {
    if (session.current) setAsked('this');
    else one.run(session);
  };
  return (
    <>
      <div className="account-heading">
        <h2 className="section-title" id={titleId}>
          {texts.title}
        </h2>
        {others.length > 0 && (
          <Button variant="default" size="xs" onClick={() => setAsked('others')}>
            {texts.endOthers(others.length)}
          </Button>
        )}
      </div>
      <p className="muted">{sessions && others.length === 0 ? texts.onlyThis : texts.text}</p>
      {query.error && <ErrorAlert error={query.error} onRetry={() => void query.refetch()} />}
      {one.error && <ErrorAlert error={one.error} />}
      {sessions ? (
        <SessionList sessions={sessions} onEnd={end} />
      ) : (
        !query.error && (
          <div className="skeletons" role="status" aria-busy="true" aria-label={t.common.list.loading}>
            <i />
            <i />
          </div>
        )
      )}
      {asked === 'this' && (
        <ConfirmDialog
          title={texts.endThisTitle}
          confirmLabel={t.account.signOut}
          isDangerous
          isPending={false}
          error={null}
          onConfirm={() => client.auth.signOut().catch(notifyFailure)}
          onClose={() => setAsked(null)}
        >
          <p>{texts.endThisText}</p>
        </ConfirmDialog>
      )}
      {asked === 'others' && (
        <ConfirmDialog
          title={texts.endOthersTitle}
          confirmLabel={texts.end}
          isDangerous
          isPending={all.isPending}
          error={all.error}
          onConfirm={() => all.run(others)}
          onClose={() => setAsked(null)}
        >
          <p>{texts.endOthersText}</p>
        </ConfirmDialog>
      )}
    </>
  );
}
