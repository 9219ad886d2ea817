// "Can they do it?": the answer in large words, where it comes from, and what would change it.
import type { Explanation } from '@castellan/sdk';
import { Loader } from '@mantine/core';
import { IconAlertTriangle, IconCircleCheck, IconCircleX, IconRoute } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, type ReactElement, type ReactNode, Suspense } from 'react';
import { PersonPicker } from '../../components/forms/PersonPicker.tsx';
import { Empty, ErrorAlert } from '../../components/page/states.tsx';
import { PermissionPicker } from '../../components/permissions/PermissionPicker.tsx';
import { call, keepingRows } from '../../data/api.ts';
import { nameOf, useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';
import { Chain } from './Chain.tsx';
import { Nearest } from './Nearest.tsx';

const Everything = lazy(() =>
  import('../../components/permissions/EffectivePermissionList.tsx').then(({ EffectivePermissionList }) => ({
    default: EffectivePermissionList,
  })),
);

type Props = {
  user: string | undefined;
  permission: string | undefined;
  mayChoosePerson: boolean;
  onChange: (part: { user?: string | undefined; permission?: string | undefined }) => void;
};

export function Check({ user, permission, mayChoosePerson, onChange }: Props): ReactElement {
  const { user: me } = useMe();
  const answer = useQuery({
    queryKey: ['POST /api/v1/access/explain', user, permission],
    queryFn: ({ signal }) =>
      call('POST /api/v1/access/explain', {
        body: { subject: { type: 'user', id: user ?? '' }, permission: permission ?? '' },
        signal,
      }),
    ...keepingRows,
    enabled: user !== undefined && permission !== undefined,
  });
  const isAsked = user !== undefined && permission !== undefined;
  return (
    <>
      <div className="access-question">
        {mayChoosePerson ? (
          <PersonPicker
            label={t.access.person}
            value={user}
            onChange={(id) => onChange({ user: id })}
            placeholder={t.access.personExample}
          />
        ) : (
          <p className="access-you">
            <span>{t.access.person}</span>
            <strong data-raw>{nameOf(me)}</strong>
          </p>
        )}
        <PermissionPicker value={permission} onChange={(name) => onChange({ permission: name })} />
      </div>
      {user !== undefined && !isAsked && (
        <section className="panel">
          <Suspense>
            <Everything key={user} subject={{ type: 'user', id: user }} headingLevel={2} />
          </Suspense>
        </section>
      )}
      {user === undefined && (
        <Empty icon={<IconRoute size={32} aria-hidden />} title={t.access.ask} text={t.access.askHelp} />
      )}
      {isAsked && answer.error && <ErrorAlert error={answer.error} onRetry={() => void answer.refetch()} />}
      {isAsked && answer.isPending && !answer.error && (
        <p role="status" className="impact-loading">
          <Loader size="xs" aria-hidden /> {t.common.list.loading}
        </p>
      )}
      {isAsked && answer.data && (
        <div aria-busy={answer.isPlaceholderData} aria-live="polite">
          <Answer explanation={answer.data.data} isMe={user === me.id} />
        </div>
      )}
    </>
  );
}

function Answer({ explanation, isMe }: { explanation: Explanation; isMe: boolean }): ReactElement {
  const { decision, reason, permission, subject, sources, notices } = explanation;
  const name = subject.name ?? subject.id;
  const Icon = decision ? IconCircleCheck : IconCircleX;
  return (
    <div className="access-answer">
      <section className={`verdict verdict-${decision ? 'yes' : 'no'}`}>
        <Icon size={44} stroke={1.6} aria-hidden />
        <div>
          <h2 data-raw>{decision ? t.access.yes(name, permission) : t.access.no(name, permission)}</h2>
          <p>{t.access.reasons[reason]}</p>
        </div>
      </section>
      {notices.map((notice) => (
        <p key={notice} className="note note-warn">
          <IconAlertTriangle size={18} aria-hidden />
          {t.access.effective[notice]}
        </p>
      ))}
      {(sources.length > 0 || reason === 'superuser') && (
        <section>
          <h2 className="section-title">{decision ? t.access.why : t.access.wouldBe}</h2>
          <Chain
            person={name}
            permission={permission}
            sources={sources}
            isSuperuser={reason === 'superuser'}
            isBlocked={!decision}
          />
        </section>
      )}
      {reason === 'not_granted' && <Nearest explanation={explanation} isMe={isMe} />}
      {subject.type === 'user' && reason !== 'unknown_subject' && <Elsewhere explanation={explanation} />}
    </div>
  );
}

function Elsewhere({ explanation: { subject, permission } }: { explanation: Explanation }): ReactNode {
  const { can } = useMe();
  return (
    <p className="access-links">
      {(can('user.read') || can('users.read')) && (
        <Link to="/users" search={{ user: subject.id, tab: 'access' }} className="text-link">
          {t.access.openPerson}
        </Link>
      )}
      {can('access.explain') && (
        <Link to="/access" search={{ permission, user: subject.id, view: 'holders' }} className="text-link">
          {t.access.views.holders}
        </Link>
      )}
    </p>
  );
}
