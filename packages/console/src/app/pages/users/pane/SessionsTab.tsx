// The live sessions and the personal access tokens of a user, and the ways to end them.
import type { Session, User } from '@castellan/sdk';
import { Skeleton } from '@mantine/core';
import { lazy, type ReactElement, Suspense, useState } from 'react';
import { ConfirmDialog } from '../../../components/dialogs/ConfirmDialog.tsx';
import { ForbiddenPart } from '../../../components/page/Forbidden.tsx';
import { LoadingLines } from '../../../components/page/LoadingLines.tsx';
import { notifyDone } from '../../../components/page/notify.tsx';
import { ErrorAlert } from '../../../components/page/states.tsx';
import { deviceName } from '../../../components/sessions/names.ts';
import { SessionList } from '../../../components/sessions/SessionList.tsx';
import { MoreSessions, useSessionPages } from '../../../components/sessions/session-pages.tsx';
import { call, useWrite } from '../../../data/api.ts';
import { useCan } from '../../../data/me.tsx';
import { t, withLaterTexts } from '../../../text.ts';
import { ActionButton } from '../ActionButton.tsx';
import type { UserRules } from '../rules.ts';

const TokensPart = lazy(() =>
  withLaterTexts(import('./TokensPart.tsx')).then((file) => ({ default: file.TokensPart })),
);

type Props = { user: User; rules: UserRules; onEndAll: () => void };

export function SessionsTab({ user, rules, onEndAll }: Props): ReactElement {
  const mayRead = useCan('users.update');
  const mayReadTokens = useCan('session.read');
  const [ending, setEnding] = useState<Session | null>(null);
  const path = { user_id: user.id };
  const {
    sessions: list,
    total,
    query: sessions,
  } = useSessionPages(
    user.id,
    (query, signal) => call('GET /api/v1/users/{user_id}/sessions', { path, query, signal }),
    mayRead,
  );
  const tokens = mayReadTokens && (
    <Suspense fallback={<LoadingLines />}>
      <TokensPart user={user} reason={rules.tokens} />
    </Suspense>
  );
  if (!mayRead)
    return (
      <>
        <ForbiddenPart permission="users.update" page={t.users.tabs.sessions} />
        {tokens}
      </>
    );
  return (
    <>
      <section className="pane-section" aria-labelledby="user-sessions">
        <div className="section-head">
          <h3 id="user-sessions" className="section-title">
            {t.users.sessions.title(total)}
          </h3>
          {list && list.length > 0 && (
            <ActionButton reason={rules.sessions} isDangerous onClick={onEndAll}>
              {t.users.acts.endSessions}
            </ActionButton>
          )}
        </div>
        {sessions.error && <ErrorAlert error={sessions.error} onRetry={() => void sessions.refetch()} />}
        {!list && !sessions.error && <Skeleton height={120} />}
        {list?.length === 0 && <p className="muted">{t.users.sessions.none}</p>}
        {list && (
          <SessionList
            sessions={list}
            isPart={sessions.hasNextPage}
            userId={user.id}
            onEnd={setEnding}
            endById={(id) => endSession(user, id)}
            groupText={t.sessions.explainOne}
            disabledReason={rules.sessions}
          />
        )}
        {list && <MoreSessions shown={list.length} total={total} query={sessions} />}
        {ending && <EndDialog user={user} session={ending} onClose={() => setEnding(null)} />}
      </section>
      {tokens}
    </>
  );
}

const endSession = (user: User, id: string) =>
  call('DELETE /api/v1/users/{user_id}/sessions/{session_id}', {
    path: { user_id: user.id, session_id: id },
  });

type EndProps = { user: User; session: Session; onClose: () => void };

function EndDialog({ user, session, onClose }: EndProps): ReactElement {
  const write = useWrite(
    () => endSession(user, session.id),
    () => {
      onClose();
      notifyDone(t.sessions.ended);
    },
  );
  return (
    <ConfirmDialog
      title={t.sessions.askOne(deviceName(session.user_agent))}
      confirmLabel={t.sessions.endOne}
      isDangerous
      isPending={write.isPending}
      error={write.error}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
    >
      <p>{session.current ? t.sessions.explainOwn : t.sessions.explainOne}</p>
    </ConfirmDialog>
  );
}
