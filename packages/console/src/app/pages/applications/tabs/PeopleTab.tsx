// Who has access to the application: one entry for each sign-in that still has tokens. Ends one, or all of them.
import type { AccessGrant, Application } from '@castellan/sdk';
import { Button } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactElement, useState } from 'react';
import { accessTimes } from '../../../components/applications/access.ts';
import { ConfirmDialog } from '../../../components/dialogs/ConfirmDialog.tsx';
import { PersonPicker } from '../../../components/forms/PersonPicker.tsx';
import { ReasonButton } from '../../../components/forms/ReasonButton.tsx';
import { ForbiddenPart } from '../../../components/page/Forbidden.tsx';
import { LoadingLines } from '../../../components/page/LoadingLines.tsx';
import { notifyDone } from '../../../components/page/notify.tsx';
import { Empty, ReadErrors } from '../../../components/page/states.tsx';
import { Tag } from '../../../components/text/badges.tsx';
import { call, useWrite } from '../../../data/api.ts';
import { isCode } from '../../../data/errors.ts';
import { useMe } from '../../../data/me.tsx';
import { later, t } from '../../../text.ts';
import '../../../components/secrets/secrets.css';

type Props = {
  application: Application;
  /** The id of the person whose access is shown; undefined for everybody's. */
  person: string | undefined;
  onPerson: (id: string | undefined) => void;
};

export function PeopleTab(props: Props): ReactElement {
  const { can } = useMe();
  return can('users.read') ? (
    <People {...props} />
  ) : (
    <ForbiddenPart permission="users.read" page={later.applications.page.tabs.people} />
  );
}

function People({ application, person, onPerson }: Props): ReactElement {
  const texts = later.applicationAccess.people;
  const { can } = useMe();
  const reason = can('application.update') ? null : t.common.forbidden.reason('application.update');
  const [ended, setEnded] = useState<AccessGrant | 'all' | null>(null);
  const query = useInfiniteQuery({
    queryKey: ['GET /api/v1/applications/{application_id}/grants', application.id, person],
    queryFn: ({ pageParam, signal }) =>
      call('GET /api/v1/applications/{application_id}/grants', {
        path: { application_id: application.id },
        query: { ...(person ? { user_id: person } : {}), ...(pageParam === '' ? {} : { cursor: pageParam }) },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
  });
  const grants = query.data?.pages.flatMap(({ data }) => data);
  const isEmpty = grants?.length === 0;
  return (
    <>
      <div className="rule">
        <p className="muted">{texts.text}</p>
        {(!isEmpty || person !== undefined) && (
          <ReasonButton variant="default" reason={reason} onClick={() => setEnded('all')}>
            {texts.endAll}
          </ReasonButton>
        )}
      </div>
      {(!isEmpty || person !== undefined) && (
        <div className="claims-person">
          <PersonPicker
            label={texts.person}
            placeholder={texts.everybody}
            value={person}
            onChange={onPerson}
          />
        </div>
      )}
      <ReadErrors of={[query]} />
      {query.isLoading && <LoadingLines />}
      {isEmpty && <Empty title={texts.empty} text={person === undefined ? texts.emptyText : undefined} />}
      {grants && !isEmpty && (
        <ul className="key-list" aria-label={texts.label}>
          {grants.map((grant) => (
            <Grant key={grant.id} grant={grant} reason={reason} onEnd={() => setEnded(grant)} />
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
      {ended === 'all' && (
        <EndAll
          application={application}
          // Those of one person, or of the first page, are not all.
          count={person === undefined && !query.hasNextPage ? grants?.length : undefined}
          onClose={() => setEnded(null)}
        />
      )}
      {ended !== null && ended !== 'all' && (
        <EndOne application={application} grant={ended} onClose={() => setEnded(null)} />
      )}
    </>
  );
}

type GrantProps = { grant: AccessGrant; reason: string | null; onEnd: () => void };

function Grant({ grant, reason, onEnd }: GrantProps): ReactElement {
  const { user, scopes, resources, offline } = grant;
  return (
    <li aria-label={user.name}>
      <div className="key-head">
        <strong data-raw>
          <Link to="/users" search={{ user: user.id }}>
            {user.name}
          </Link>
        </strong>
        {offline && <Tag>{later.applicationAccess.offline}</Tag>}
        <ReasonButton variant="default" reason={reason} onClick={onEnd}>
          {later.applicationAccess.people.end}
        </ReasonButton>
      </div>
      <span className="key-facts" data-raw>
        {user.email}
      </span>
      <span className="key-facts mono">{scopes.join(' ')}</span>
      {resources.map(({ id, name, permissions }) => (
        <span key={id} className="key-facts" data-raw>
          {name}: <span className="mono">{permissions.join(' ')}</span>
        </span>
      ))}
      <span className="key-facts">
        {accessTimes({ since: grant.created_at, last_used_at: grant.last_used_at, until: grant.expires_at })}
      </span>
    </li>
  );
}

/** Returns how many ended. What has ended by itself is as good as ended. */
async function endOne(applicationId: string, grantId: string): Promise<number> {
  try {
    const path = { application_id: applicationId, grant_id: grantId };
    return (await call('DELETE /api/v1/applications/{application_id}/grants/{grant_id}', { path })).data
      .grants;
  } catch (error) {
    if (isCode(error, 'access_grant_not_found')) return 1;
    throw error;
  }
}

type EndProps = { application: Application; onClose: () => void };

function EndOne({ application, grant, onClose }: EndProps & { grant: AccessGrant }): ReactElement {
  const texts = later.applicationAccess.people;
  const write = useWrite(
    () => endOne(application.id, grant.id),
    (count) => {
      notifyDone(texts.ended(count));
      onClose();
    },
  );
  return (
    <ConfirmDialog
      title={texts.askOne(grant.user.name)}
      confirmLabel={texts.end}
      isDangerous
      isPending={write.isPending}
      error={write.error}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
    >
      <p>{texts.oneText}</p>
    </ConfirmDialog>
  );
}

function EndAll({ application, count, onClose }: EndProps & { count: number | undefined }): ReactElement {
  const texts = later.applicationAccess.people;
  const write = useWrite(
    () =>
      call('DELETE /api/v1/applications/{application_id}/grants', {
        path: { application_id: application.id },
      }),
    ({ data }) => {
      notifyDone(texts.ended(data.grants));
      onClose();
    },
  );
  return (
    <ConfirmDialog
      title={texts.askAll(application.name)}
      confirmLabel={texts.endAll}
      isDangerous
      isPending={write.isPending}
      error={write.error}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
    >
      <p>
        {texts.allText} {count !== undefined && texts.ends(count)}
      </p>
    </ConfirmDialog>
  );
}
