// Everything that a user or a service account may do, by permission group, each with every role that grants it.
// It must not change anything.

import type { EffectivePermission, EffectivePermissions, PermissionSource } from '@castellan/sdk';
import { TextInput } from '@mantine/core';
import { IconAlertTriangle, IconKeyOff, IconSearch, IconShieldCheck } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { type ReactElement, type ReactNode, useState } from 'react';
import { formatNumber } from '../../../common/format.ts';
import { useMe } from '../../data/me.tsx';
import { type EffectiveSubject, pathsOf, useEffectivePermissions } from '../../data/permissions/effective.ts';
import { t } from '../../text.ts';
import { searchFor } from '../../text-search.ts';
import { Tag } from '../text/badges.tsx';
import './effective.css';
import { ErrorAlert } from '../page/states.tsx';

type Props = {
  subject: EffectiveSubject;
  /** The level of the title; the groups are one level below. Default: 3. */
  headingLevel?: 2 | 3;
};

const skeletonRows = ['a', 'b', 'c', 'd', 'e'];

export function EffectivePermissionList({ subject, headingLevel = 3 }: Props): ReactElement {
  const { query, isMe, missing } = useEffectivePermissions(subject);
  if (missing) {
    return (
      <p className="muted">
        {t.access.effective.forbidden} {t.common.forbidden.reason(missing)}
      </p>
    );
  }
  const data = query.data?.data;
  return (
    <>
      {query.error && <ErrorAlert error={query.error} onRetry={() => void query.refetch()} />}
      {data ? (
        <Loaded data={data} isMe={isMe} headingLevel={headingLevel} />
      ) : (
        !query.error && (
          <div className="skeletons" role="status" aria-busy="true" aria-label={t.access.effective.loading}>
            {skeletonRows.map((key) => (
              <i key={key} />
            ))}
          </div>
        )
      )}
    </>
  );
}

type LoadedProps = { data: EffectivePermissions; isMe: boolean; headingLevel: 2 | 3 };

function Loaded({ data, isMe, headingLevel }: LoadedProps): ReactElement {
  const { can } = useMe();
  const [typed, setTyped] = useState('');
  const isFound = searchFor(typed);
  const matching = data.permissions.filter(({ name }) => isFound(name));
  const mayExplain = data.subject.type === 'user' && (isMe || can('access.explain'));
  const userId = mayExplain ? data.subject.id : null;
  const Title = headingLevel === 2 ? 'h2' : 'h3';
  const GroupTitle = headingLevel === 2 ? 'h3' : 'h4';
  return (
    <section className="effective">
      <div className="effective-head">
        <Title className="section-title">
          {t.access.effective.title(formatNumber(data.permissions.length))}
        </Title>
        {data.permissions.length > 0 && (
          <TextInput
            size="xs"
            aria-label={t.access.effective.filter}
            placeholder={t.access.effective.filter}
            leftSection={<IconSearch size={14} aria-hidden />}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
          />
        )}
      </div>
      <Notes data={data} />
      {data.permissions.length === 0 && (
        <p className="effective-none">
          <IconKeyOff size={20} aria-hidden />
          <span>
            <strong>{t.access.effective.none}</strong>
            <br />
            <span className="muted">{t.access.effective.noneHelp}</span>
          </span>
        </p>
      )}
      {data.permissions.length > 0 && matching.length === 0 && (
        <div className="effective-none" role="status">
          <span>
            <strong>{t.access.effective.noMatch(typed.trim())}</strong>
            <br />
            <span className="muted">{t.access.effective.noMatchHelp}</span>{' '}
            {userId && (
              <Link to="/access" search={{ user: userId, permission: typed.trim() }} className="text-link">
                {t.access.effective.ask}
              </Link>
            )}
          </span>
        </div>
      )}
      {typed.trim() !== '' && matching.length > 0 && (
        <p className="visually-hidden" role="status">
          {t.access.effective.shown(matching.length)}
        </p>
      )}
      {byGroup(matching).map(({ id, name, permissions }) => (
        <div key={id}>
          <GroupTitle className="effective-group">{name}</GroupTitle>
          <ul className="effective-list">
            {permissions.map((permission) => (
              <Line key={permission.name} permission={permission} userId={userId} />
            ))}
          </ul>
        </div>
      ))}
    </section>
  );
}

type Group = { id: string; name: string; permissions: EffectivePermission[] };

function byGroup(permissions: readonly EffectivePermission[]): Group[] {
  const groups = new Map<string, Group>();
  for (const permission of permissions) {
    const { id, name } = permission.group;
    const group = groups.get(id);
    if (group) group.permissions.push(permission);
    else groups.set(id, { id, name, permissions: [permission] });
  }
  return [...groups.values()].sort((a, b) => a.name.localeCompare(b.name));
}

function Notes({ data }: { data: EffectivePermissions }): ReactNode {
  const texts = t.access.effective;
  return (
    <>
      {data.is_superuser && (
        <p className="note note-accent">
          <IconShieldCheck size={18} aria-hidden />
          {texts.superuser}
        </p>
      )}
      {[...(data.blocked ? [data.blocked] : []), ...data.notices].map((notice) => (
        <p key={notice} className="note note-warn">
          <IconAlertTriangle size={18} aria-hidden />
          {texts[notice]}
        </p>
      ))}
    </>
  );
}

/** `userId` is null where the access explorer cannot be asked. */
function Line({
  permission,
  userId,
}: {
  permission: EffectivePermission;
  userId: string | null;
}): ReactElement {
  const { name, description, superuser, sources } = permission;
  return (
    <li>
      <span className="effective-name">
        {userId ? (
          <Link to="/access" search={{ user: userId, permission: name }} className="mono text-link">
            {name}
          </Link>
        ) : (
          <span className="mono">{name}</span>
        )}
        {description && <span className="row-note">{description}</span>}
      </span>
      <span className="effective-sources">
        {superuser && <Tag tone="accent">{t.common.status.superuser}</Tag>}
        {sources.map((source) => (
          <Source key={source.role.id} source={source} />
        ))}
      </span>
    </li>
  );
}

function Source({ source }: { source: PermissionSource }): ReactElement {
  const { can } = useMe();
  const { id, name } = source.role;
  return (
    <span className="effective-source">
      {can('role.read') ? (
        <Link to="/roles/$id" params={{ id }} className="chip" title={name}>
          {name}
        </Link>
      ) : (
        <span className="chip" title={name}>
          {name}
        </span>
      )}
      {pathsOf(source).map((path) => (
        <span key={path} className="effective-path">
          {path}
        </span>
      ))}
    </span>
  );
}
