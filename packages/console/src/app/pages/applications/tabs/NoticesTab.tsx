// What the application was told about sessions that ended, and why some of it did not arrive, in words.
import type { Application, LogoutNotice } from '@castellan/sdk';
import { Button, NativeSelect } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { formatAgo } from '../../../../common/format.ts';
import { LoadingLines } from '../../../components/page/LoadingLines.tsx';
import { Empty, ReadErrors } from '../../../components/page/states.tsx';
import { Tag } from '../../../components/text/badges.tsx';
import { Moment } from '../../../components/text/time.tsx';
import { call } from '../../../data/api.ts';
import { later } from '../../../text.ts';
import '../../../components/secrets/secrets.css';

const states = ['waiting', 'sent', 'refused', 'given_up'] as const satisfies readonly LogoutNotice['state'][];

export function NoticesTab({ application }: { application: Application }): ReactElement {
  const texts = later.applications.page.notices;
  const [state, setState] = useState<LogoutNotice['state']>();
  const query = useInfiniteQuery({
    queryKey: ['GET /api/v1/applications/{application_id}/logout-notices', application.id, state],
    queryFn: ({ pageParam, signal }) =>
      call('GET /api/v1/applications/{application_id}/logout-notices', {
        path: { application_id: application.id },
        query: { ...(state ? { state } : {}), ...(pageParam === '' ? {} : { cursor: pageParam }) },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
  });
  const notices = query.data?.pages.flatMap(({ data }) => data);
  return (
    <>
      <div className="rule">
        <p className="muted">{application.backchannel_logout_url === null ? texts.none : texts.text}</p>
        <NativeSelect
          aria-label={texts.state}
          value={state ?? ''}
          data={[
            { value: '', label: texts.everyState },
            ...states.map((value) => ({ value, label: texts.states[value] })),
          ]}
          onChange={({ currentTarget: { value } }) => setState(states.find((one) => one === value))}
        />
      </div>
      <ReadErrors of={[query]} />
      {query.isLoading && <LoadingLines />}
      {notices?.length === 0 && <Empty title={texts.empty} />}
      {notices && notices.length > 0 && (
        <ul className="key-list" aria-label={texts.label}>
          {notices.map((notice) => (
            <li key={notice.id}>
              <div className="key-head">
                <strong>
                  <Moment at={notice.created_at} />
                </strong>
                <Tag tone={notice.state === 'sent' ? 'good' : 'gray'}>{texts.states[notice.state]}</Tag>
              </div>
              <span className="key-facts mono">{notice.sid}</span>
              <span className="key-facts">{factsOf(notice).join(' · ')}</span>
              {notice.state !== 'sent' && <Why notice={notice} />}
            </li>
          ))}
        </ul>
      )}
      {query.hasNextPage && (
        <Button
          variant="default"
          loading={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          {texts.more}
        </Button>
      )}
    </>
  );
}

function factsOf({ attempts, next_at }: LogoutNotice): string[] {
  const texts = later.applications.page.notices;
  return [texts.attempts(attempts), ...(next_at === null ? [] : [texts.next(formatAgo(next_at))])];
}

function Why({ notice: { state, status, error } }: { notice: LogoutNotice }): ReactElement | null {
  const texts = later.applications.page.notices;
  const reasons: Readonly<Record<string, string>> = texts.reasons;
  if (error !== null) return <span>{reasons[error] ?? texts.other(error)}</span>;
  if (status === null) return null;
  return <span>{state === 'refused' ? texts.refused(status) : texts.answered(status)}</span>;
}
