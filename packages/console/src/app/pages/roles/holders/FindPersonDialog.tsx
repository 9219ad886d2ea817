// Finds the person who gets a role.
import type { ListedUser } from '@castellan/sdk';
import { Modal, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { useTypedText } from '../../../components/lists/debounce.ts';
import { ErrorAlert } from '../../../components/page/states.tsx';
import { keepingRows, reading } from '../../../data/api.ts';
import type { CountedRole } from '../../../data/catalogue.ts';
import { nameOf, useMe } from '../../../data/me.tsx';
import { t } from '../../../text.ts';
import type { Subject } from './holder-change.ts';

const MOST_FOUND = 8;

type Props = { role: CountedRole; onFound: (subject: Subject) => void; onClose: () => void };

export function FindPersonDialog({ role, onFound, onClose }: Props): ReactElement {
  const [stored, store] = useState('');
  const [typed, setTyped] = useTypedText(stored, store);
  const { can } = useMe();
  const input = { query: { search: stored.trim(), size: MOST_FOUND } };
  const found = useQuery({
    ...(can('user.read') ? reading('GET /api/v1/users', input) : reading('GET /api/v1/users/list', input)),
    ...keepingRows,
    enabled: stored.trim() !== '',
  });
  const people: readonly ListedUser[] = found.data?.data.items ?? [];
  return (
    <Modal
      opened
      onClose={onClose}
      title={t.roles.holdersTab.assignTitle(role.name)}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <TextInput
        data-autofocus
        type="search"
        label={t.roles.holdersTab.find}
        autoComplete="off"
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
      {found.error && <ErrorAlert error={found.error} onRetry={() => void found.refetch()} />}
      <ul className="people" aria-busy={found.isFetching}>
        {stored.trim() !== '' &&
          people.map((user) => {
            const hasIt = user.roles.some(({ id }) => id === role.id);
            return (
              <li key={user.id}>
                <button
                  type="button"
                  disabled={hasIt}
                  onClick={() => onFound({ type: 'user', id: user.id, name: nameOf(user) })}
                >
                  <span className="row-name">{nameOf(user)}</span>
                  <span className="row-note">
                    {user.email}
                    {hasIt && ` · ${t.roles.holdersTab.has}`}
                  </span>
                </button>
              </li>
            );
          })}
      </ul>
      {found.data && stored.trim() !== '' && people.length === 0 && (
        <p className="muted" role="status">
          {t.roles.holdersTab.nobodyFound}
        </p>
      )}
    </Modal>
  );
}
