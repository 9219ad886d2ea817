// The list of sign-in providers, in the order of their buttons. It is changed by drag, by buttons and by keys.
import type { IdentityProvider } from '@castellan/sdk';
import { ActionIcon, Button } from '@mantine/core';
import { IconArrowDown, IconArrowUp, IconGripVertical, IconLogin2, IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type DragEvent, type ReactElement, type ReactNode, useState } from 'react';
import { ReasonButton } from '../../../components/forms/ReasonButton.tsx';
import { type KeyPress, useKeys } from '../../../components/keyboard/keys.ts';
import { announce } from '../../../components/page/announce.ts';
import { LoadingLines } from '../../../components/page/LoadingLines.tsx';
import { PageHeader } from '../../../components/page/PageHeader.tsx';
import { usePageActions } from '../../../components/page/page-actions.ts';
import { Empty, ErrorAlert, ReadErrors } from '../../../components/page/states.tsx';
import { StatusBadge, Tag } from '../../../components/text/badges.tsx';
import { call, queryClient, useWrite } from '../../../data/api.ts';
import { allProviders } from '../../../data/identities/providers.ts';
import { useMe } from '../../../data/me.tsx';
import { later, t } from '../../../text.ts';
import { movedTo, positionsFor } from './order.ts';
import '../identity-providers.css';

/** One after the other: several changes of one person at once would wait for each other. */
async function storeOrder(order: readonly IdentityProvider[]): Promise<void> {
  for (const [id, position] of positionsFor(order))
    await call('PUT /api/v1/identity-providers/{provider_id}', {
      path: { provider_id: id },
      body: { position },
    });
}

export function IdentityProviders(): ReactElement {
  const texts = later.identityProviders;
  const { user } = useMe();
  const navigate = useNavigate();
  const list = useQuery(allProviders);
  const providers = list.data?.data;
  const create = (): void => void navigate({ to: '/identity-providers/new', search: {} });
  usePageActions(user.is_superuser ? [{ label: texts.create, run: create }] : []);
  const isEmpty = providers?.length === 0;
  return (
    <>
      <PageHeader
        title={t.common.nav.identityProviders}
        note={providers ? texts.count(providers.length) : null}
        actions={
          <ReasonButton
            leftSection={<IconPlus size={16} aria-hidden />}
            reason={user.is_superuser ? null : texts.onlySuperusers}
            onClick={create}
          >
            {texts.create}
          </ReasonButton>
        }
      />
      {!user.is_superuser && <p className="muted">{texts.readOnly}</p>}
      <ReadErrors of={[list]} />
      {!providers && !list.error && <LoadingLines />}
      {isEmpty && (
        <Empty
          icon={<IconLogin2 size={32} aria-hidden />}
          title={texts.empty}
          text={texts.emptyText}
          action={user.is_superuser && <Button onClick={create}>{texts.create}</Button>}
        />
      )}
      {providers && !isEmpty && <Ordered providers={providers} mayMove={user.is_superuser} />}
    </>
  );
}

type OrderedProps = { providers: readonly IdentityProvider[]; mayMove: boolean };

function Ordered({ providers, mayMove }: OrderedProps): ReactElement {
  const texts = later.identityProviders;
  const [dragged, setDragged] = useState<string | null>(null);
  const [over, setOver] = useState<string | null>(null);
  const write = useWrite(storeOrder);
  const indexOf = (id: string | null): number => providers.findIndex((one) => one.id === id);
  const move = (from: number, to: number): boolean => {
    const provider = providers[from];
    if (!provider || !mayMove || write.isPending || to < 0 || to >= providers.length || from === to)
      return false;
    const order = movedTo(providers, from, to);
    // As it will be, so that the next key goes on from there.
    queryClient.setQueryData(allProviders.queryKey, (now: unknown) => (now ? { ...now, data: order } : now));
    announce(texts.list.moved(provider.name, to + 1, providers.length));
    write.run(order);
    return true;
  };
  const rowOf = (target: EventTarget | null): string | null =>
    (target instanceof Element && target.closest<HTMLElement>('[data-id]')?.dataset.id) || null;
  const take = useKeys([
    {
      keys: ['Alt+ArrowUp', 'Alt+ArrowDown'],
      does: 'moveProvider',
      isOn: () => mayMove,
      run: ({ target, key }: KeyPress) => {
        const from = indexOf(rowOf(target));
        move(from, from + (key === 'ArrowDown' ? 1 : -1));
      },
    },
  ]);
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    move(indexOf(dragged), indexOf(rowOf(event.target)));
    setDragged(null);
    setOver(null);
  };
  return (
    <>
      <p className="muted">{texts.text}</p>
      {Boolean(write.error) && <ErrorAlert error={write.error} />}
      <ol
        className="providers"
        aria-label={t.common.nav.identityProviders}
        onKeyDown={(event) => void take(event)}
        onDragOver={(event) => {
          if (dragged === null) return;
          event.preventDefault();
          setOver(rowOf(event.target));
        }}
        onDrop={drop}
        onDragStart={(event) => {
          const id = rowOf(event.target);
          event.dataTransfer.effectAllowed = 'move';
          event.dataTransfer.setData('text/plain', id ?? '');
          setDragged(id);
        }}
        onDragEnd={() => {
          setDragged(null);
          setOver(null);
        }}
      >
        {providers.map((provider, index) => (
          <li
            key={provider.id}
            data-id={provider.id}
            draggable={mayMove}
            data-over={(over === provider.id && dragged !== provider.id) || undefined}
            data-dragged={dragged === provider.id || undefined}
          >
            {mayMove && (
              <span className="grip" title={texts.list.handle(provider.name)}>
                <IconGripVertical size={18} aria-hidden />
              </span>
            )}
            <Link to="/identity-providers/$id" params={{ id: provider.id }} className="provider-link">
              <span className="row-name" data-raw>
                {provider.name}
              </span>
              <span className="row-note">
                {texts.kinds[provider.kind]} · <span className="mono">{provider.slug}</span>
              </span>
            </Link>
            <Marks provider={provider} />
            {mayMove && (
              <span className="provider-moves">
                <Move
                  label={texts.list.up(provider.name)}
                  icon={<IconArrowUp size={16} aria-hidden />}
                  isOff={index === 0}
                  onMove={() => move(index, index - 1)}
                />
                <Move
                  label={texts.list.down(provider.name)}
                  icon={<IconArrowDown size={16} aria-hidden />}
                  isOff={index === providers.length - 1}
                  onMove={() => move(index, index + 1)}
                />
              </span>
            )}
          </li>
        ))}
      </ol>
    </>
  );
}

type MoveProps = { label: string; icon: ReactNode; isOff: boolean; onMove: () => void };

/** It keeps the focus at the end of the list, too. */
const Move = ({ label, icon, isOff, onMove }: MoveProps): ReactElement => (
  <ActionIcon
    variant="default"
    size="lg"
    aria-label={label}
    aria-disabled={isOff}
    {...(isOff ? { 'data-disabled': true } : {})}
    onClick={onMove}
  >
    {icon}
  </ActionIcon>
);

function Marks({ provider }: { provider: IdentityProvider }): ReactElement {
  const texts = later.identityProviders.list;
  return (
    <span className="chips">
      <StatusBadge status={provider.is_active ? 'active' : 'inactive'} />
      {!provider.is_shown && <Tag>{texts.hidden}</Tag>}
      {provider.required_for_domains && <Tag tone="accent">{texts.required}</Tag>}
      {!provider.has_secret && provider.client_auth !== 'none' && <Tag tone="warn">{texts.noSecret}</Tag>}
    </span>
  );
}
