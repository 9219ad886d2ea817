// The command palette: what the page offers, people, roles, permissions and pages, found by typing.
import type { ListedUser, Permission } from '@castellan/sdk';
import { Modal, TextInput } from '@mantine/core';
import { IconBolt, IconCopy, IconKey, IconSearch, IconShield, IconUser } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useRouterState } from '@tanstack/react-router';
import { type KeyboardEvent, type ReactElement, type ReactNode, useId, useState } from 'react';
import { recentRequests, type SentRequest } from '../../common/recent-requests.ts';
import { useTypedText } from '../components/lists/debounce.ts';
import { pageActions } from '../components/page/page-actions.ts';
import { keepingRows, reading } from '../data/api.ts';
import { allPermissions, allRoleNames } from '../data/catalogue.ts';
import { nameOf, useMe } from '../data/me.tsx';
import { pageOf } from '../pages.ts';
import { later, t } from '../text.ts';
import { CurlDialog } from './curl/CurlDialog.tsx';
import { chooseRequests } from './curl/choose.ts';
import { menuOf } from './nav.ts';

type Entry = {
  key: string;
  label: string;
  note?: string;
  icon: ReactNode;
  run: () => void;
  staysOpen?: boolean;
};

/** Of each kind so many are listed. */
const MOST = 6;
/** So many requests before anything is typed. */
const MOST_REQUESTS = 2;

const matches = (text: string, typed: string): boolean =>
  text.toLocaleLowerCase().includes(typed.trim().toLocaleLowerCase());

export function Palette({ onClose, onHelp }: { onClose: () => void; onHelp: () => void }): ReactElement {
  const [stored, store] = useState('');
  const [typed, setTyped] = useTypedText(stored, store);
  const [at, setAt] = useState(0);
  const id = useId();
  const [request, setRequest] = useState<SentRequest | null>(null);
  const entries = useEntries(typed, stored, onHelp, setRequest);
  const chosen = Math.min(at, entries.length - 1);
  const run = (entry: Entry | undefined): void => {
    if (!entry) return;
    if (!entry.staysOpen) onClose();
    entry.run();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setAt((chosen + step + entries.length) % Math.max(1, entries.length));
    else if (event.key === 'Enter') run(entries[chosen]);
    else return;
    event.preventDefault();
  };
  if (request) return <CurlDialog request={request} onClose={onClose} />;
  return (
    <Modal
      opened
      onClose={onClose}
      withCloseButton={false}
      centered={false}
      yOffset="12vh"
      size="lg"
      padding={0}
      attributes={{ content: { 'aria-label': t.common.header.search } }}
    >
      <TextInput
        data-autofocus
        size="md"
        role="combobox"
        aria-label={t.common.header.search}
        aria-expanded
        aria-controls={id}
        aria-activedescendant={entries[chosen] ? `${id}-${chosen}` : undefined}
        placeholder={t.common.header.search}
        leftSection={<IconSearch size={18} aria-hidden />}
        value={typed}
        onChange={(event) => {
          setTyped(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
        classNames={{ input: 'palette-input' }}
      />
      <div id={id} role="listbox" aria-label={t.common.header.search} className="palette-list">
        {entries.map((entry, index) => (
          <div
            key={entry.key}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            ref={(element) => {
              if (index === chosen) element?.scrollIntoView({ block: 'nearest' });
            }}
            onMouseMove={() => setAt(index)}
            onClick={() => run(entry)}
            onKeyDown={onKeyDown}
          >
            {entry.icon}
            <span>{entry.label}</span>
            {entry.note && <span className="muted">{entry.note}</span>}
          </div>
        ))}
        {entries.length === 0 && <p className="muted palette-none">{t.common.list.noMatch}</p>}
      </div>
    </Modal>
  );
}

/** `typed` filters what is here at once; `stored` follows when typing pauses and asks the service. */
function useEntries(
  typed: string,
  stored: string,
  onHelp: () => void,
  onRequest: (request: SentRequest) => void,
): Entry[] {
  const me = useMe();
  const navigate = useNavigate();
  const path = useRouterState({ select: ({ location }) => location.pathname });
  // Before the palette itself reads anything.
  const [requests] = useState(() =>
    chooseRequests(recentRequests(), location.pathname, pageOf(path)?.tag ?? null),
  );
  const isSearching = stored.trim().length > 0;
  const found = { query: { search: stored.trim(), size: MOST } };
  const people = useQuery({
    ...(me.can('user.read') ? reading('GET /api/v1/users', found) : reading('GET /api/v1/users/list', found)),
    ...keepingRows,
    enabled: isSearching && (me.can('user.read') || me.can('users.read')),
  });
  const roles = useQuery({
    ...allRoleNames,
    enabled: isSearching && me.can('role.read'),
  });
  const permissions = useQuery({
    ...allPermissions(),
    enabled: isSearching && me.can('permission.read'),
  });
  const pages = menuOf(me)
    .filter(({ title }) => matches(title(), typed))
    .map(({ title, path, icon: Icon }) => ({
      key: path,
      label: title(),
      icon: <Icon size={16} aria-hidden />,
      run: () => void navigate({ to: path }),
    }));
  const help = matches(t.common.header.shortcuts, typed)
    ? [
        {
          key: 'help',
          label: t.common.header.shortcuts,
          icon: <IconSearch size={16} aria-hidden />,
          run: onHelp,
        },
      ]
    : [];
  const actions = pageActions()
    .filter(({ label }) => matches(label, typed))
    .map(({ label, run }) => ({ key: label, label, icon: <IconBolt size={16} aria-hidden />, run }));
  const commands = requests
    .map((request) => ({
      key: `curl ${request.method} ${request.url}`,
      label: later.curl.copy,
      note: `${request.method} ${shortOf(request.url)}`,
      icon: <IconCopy size={16} aria-hidden />,
      run: () => onRequest(request),
      staysOpen: true,
    }))
    .filter(({ label, note }) => matches(`${label} ${note}`, typed));
  if (!isSearching) return [...actions, ...pages, ...commands.slice(0, MOST_REQUESTS), ...help];
  return [
    ...(people.data?.data.items ?? []).map((user: ListedUser) => ({
      key: user.id,
      label: nameOf(user),
      note: user.email,
      icon: <IconUser size={16} aria-hidden />,
      run: () => void navigate({ to: '/users', search: { user: user.id } }),
    })),
    ...(roles.data ?? [])
      .filter(({ name }) => matches(name, typed))
      .slice(0, MOST)
      .map((role) => ({
        key: role.id,
        label: role.name,
        note: t.common.nav.roles,
        icon: <IconShield size={16} aria-hidden />,
        run: () => void navigate({ to: '/roles/$id', params: { id: role.id } }),
      })),
    ...(permissions.data ?? [])
      .filter(({ name }: Permission) => matches(name, typed))
      .slice(0, MOST)
      .map((permission: Permission) => ({
        key: permission.id,
        label: permission.name,
        note: t.common.nav.permissions,
        icon: <IconKey size={16} aria-hidden />,
        run: () => void navigate({ to: '/access', search: { permission: permission.name } }),
      })),
    ...actions,
    ...pages,
    ...commands.slice(0, MOST),
    ...help,
  ];
}

/** Returns the address as people read it, without the origin. */
function shortOf(url: string): string {
  const { pathname, searchParams } = new URL(url);
  const query = [...searchParams].map(([name, value]) => `${name}=${value}`).join('&');
  return query === '' ? pathname : `${pathname}?${query}`;
}
