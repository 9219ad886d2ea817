// One's own live sessions: end one, or all others.
import type { Session } from '@castellan/sdk';
import { Button } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { ConfirmDialog } from '../../components/dialogs/ConfirmDialog.tsx';
import { LoadingLines } from '../../components/page/LoadingLines.tsx';
import { notifyDone, notifyFailure } from '../../components/page/notify.tsx';
import { ErrorAlert } from '../../components/page/states.tsx';
import { SessionList } from '../../components/sessions/SessionList.tsx';
import { MoreSessions, useSessionPages } from '../../components/sessions/session-pages.tsx';
import { call, useWrite } from '../../data/api.ts';
import { isCode } from '../../data/errors.ts';
import { signOut } from '../../data/sign-out.ts';
import { t } from '../../text.ts';

const MOST_PER_PAGE = 100;

/** A session that has ended by itself is as good as ended. */
async function endSession(id: string): Promise<void> {
  try {
    await call('DELETE /api/v1/auth/sessions/{session_id}', { path: { session_id: id } });
  } catch (error) {
    if (!isCode(error, 'session_not_found')) throw error;
  }
}

/** Ends all sessions but this one, however many there are. Returns their number. */
async function endOthers(): Promise<number> {
  for (let ended = 0; ; ) {
    const { data } = await call('GET /api/v1/auth/sessions', { query: { size: MOST_PER_PAGE } });
    const others = data.filter(({ current }) => !current);
    if (others.length === 0) return ended;
    for (const { id } of others) await endSession(id);
    ended += others.length;
  }
}

export function MySessions({ titleId }: { titleId: string }): ReactElement {
  const texts = t.account.sessions;
  const [asked, setAsked] = useState<'this' | 'others' | null>(null);
  const { sessions, total, query } = useSessionPages('own', (page, signal) =>
    call('GET /api/v1/auth/sessions', { query: page, signal }),
  );
  // One of them is this one.
  const others = total - 1;
  const one = useWrite(endSession, () => notifyDone(texts.ended));
  const all = useWrite(endOthers, (ended) => {
    setAsked(null);
    notifyDone(texts.endedOthers(ended));
  });
  const end = (session: Session): void => {
    if (session.current) setAsked('this');
    else one.run(session.id);
  };
  return (
    <>
      <div className="account-heading">
        <h2 className="section-title" id={titleId}>
          {texts.title}
        </h2>
        {others > 0 && (
          <Button variant="default" size="xs" onClick={() => setAsked('others')}>
            {texts.endOthers(others)}
          </Button>
        )}
      </div>
      {sessions && <p className="muted">{others === 0 ? texts.onlyThis : texts.text}</p>}
      {query.error && <ErrorAlert error={query.error} onRetry={() => void query.refetch()} />}
      {one.error && <ErrorAlert error={one.error} />}
      {sessions ? (
        <>
          <SessionList
            sessions={sessions}
            isPart={query.hasNextPage}
            onEnd={end}
            endById={endSession}
            groupText={texts.endOthersText}
          />
          <MoreSessions shown={sessions.length} total={total} query={query} />
        </>
      ) : (
        !query.error && <LoadingLines />
      )}
      {asked === 'this' && (
        <ConfirmDialog
          title={texts.endThisTitle}
          confirmLabel={t.account.signOut}
          isDangerous
          isPending={false}
          error={null}
          onConfirm={() => signOut().catch(notifyFailure)}
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
          onConfirm={() => all.run(undefined)}
          onClose={() => setAsked(null)}
        >
          <p>{texts.endOthersText}</p>
        </ConfirmDialog>
      )}
    </>
  );
}
