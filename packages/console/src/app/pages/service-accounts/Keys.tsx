// The API keys of a service account: create, replace, revoke. A key is shown once, in the dialog that creates it.
import type { ApiKey, NewApiKey, ServiceAccount } from '@castellan/sdk';
import { Checkbox } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { formatAgo, formatDay } from '../../../common/format.ts';
import { ConfirmDialog } from '../../components/dialogs/ConfirmDialog.tsx';
import { notifyDone } from '../../components/page/notify.tsx';
import { Empty, ErrorAlert } from '../../components/page/states.tsx';
import { NewSecretDialog } from '../../components/secrets/NewSecretDialog.tsx';
import { SecretDialog } from '../../components/secrets/SecretDialog.tsx';
import { Tag } from '../../components/text/badges.tsx';
import { call, reading, useWrite } from '../../data/api.ts';
import { useCan } from '../../data/me.tsx';
import { t } from '../../text.ts';
import { Act } from './Act.tsx';
import { RotateDialog } from './RotateDialog.tsx';

type Open = { name: 'create' } | { name: 'rotate' | 'revoke'; key: ApiKey };

const isEnded = ({ revoked_at, expires_at }: ApiKey): boolean =>
  [revoked_at, expires_at].some((at) => at !== null && Date.parse(at) <= Date.now());

export function Keys({ account }: { account: ServiceAccount }): ReactElement {
  const texts = t.serviceAccounts.keys;
  const mayUpdate = useCan('service_account.update');
  const missing = mayUpdate ? null : 'service_account.update';
  const path = { service_account_id: account.id };
  const query = useQuery(reading('GET /api/v1/service-accounts/{service_account_id}/keys', { path }));
  const [open, setOpen] = useState<Open | null>(null);
  const [made, setMade] = useState<NewApiKey | null>(null);
  const [showsEnded, setShowsEnded] = useState(false);
  const keys = query.data?.data;
  const live = (keys ?? []).filter((key) => !isEnded(key));
  const ended = (keys ?? []).filter(isEnded);
  const close = (): void => setOpen(null);
  const onMade = (key: NewApiKey): void => {
    close();
    setMade(key);
  };
  return (
    <>
      <div className="account-actions">
        <Act label={texts.create} missing={missing} onClick={() => setOpen({ name: 'create' })} />
      </div>
      {query.error && <ErrorAlert error={query.error} onRetry={() => void query.refetch()} />}
      {!keys && !query.error && (
        <div className="skeletons" role="status" aria-busy="true" aria-label={texts.label}>
          <i />
          <i />
        </div>
      )}
      {keys && live.length === 0 && ended.length === 0 && (
        <Empty title={texts.empty} text={texts.emptyText} />
      )}
      {keys && (live.length > 0 || showsEnded) && (
        <ul className="key-list" aria-label={texts.label}>
          {[...live, ...(showsEnded ? ended : [])].map((key) => (
            <KeyItem key={key.id} item={key} missing={missing} onOpen={setOpen} />
          ))}
        </ul>
      )}
      {!showsEnded && ended.length > 0 && (
        <button type="button" className="link-button" onClick={() => setShowsEnded(true)}>
          {texts.showEnded(ended.length)}
        </button>
      )}
      {open?.name === 'create' && (
        <NewSecretDialog
          texts={texts}
          narrowing={{ texts, permissions: account.permissions }}
          make={(body) => call('POST /api/v1/service-accounts/{service_account_id}/keys', { path, body })}
          onMade={onMade}
          onClose={close}
        />
      )}
      {open?.name === 'rotate' && (
        <RotateDialog accountId={account.id} item={open.key} onClose={close} onMade={onMade} />
      )}
      {open?.name === 'revoke' && <Revoke accountId={account.id} item={open.key} onClose={close} />}
      {made && (
        <SecretDialog
          secret={made.key ?? null}
          name={made.name}
          texts={t.serviceAccounts.secret}
          onClose={() => setMade(null)}
        />
      )}
    </>
  );
}

type ItemProps = { item: ApiKey; missing: string | null; onOpen: (open: Open) => void };

function KeyItem({ item, missing, onOpen }: ItemProps): ReactElement {
  const texts = t.serviceAccounts.keys;
  const { name, prefix, permissions, narrowed_by, expires_at, revoked_at, last_used_at } = item;
  const ended = isEnded(item);
  const end =
    revoked_at !== null && Date.parse(revoked_at) <= Date.now()
      ? texts.revokedOn(formatDay(revoked_at))
      : expires_at === null
        ? texts.never
        : ended
          ? texts.expiredOn(formatDay(expires_at))
          : texts.expiresOn(formatDay(expires_at));
  const facts = [
    permissions === null ? texts.all : texts.narrowed(permissions.length),
    ...(narrowed_by === 'maker' ? [texts.byMaker] : []),
    end,
    last_used_at === null ? texts.unused : `${texts.used}: ${formatAgo(last_used_at)}`,
  ];
  return (
    <li aria-label={texts.actionsOf(name)}>
      <div className="key-head">
        <strong data-raw>{name}</strong>
        <Tag tone={ended ? 'gray' : 'good'}>
          {ended ? (revoked_at === null ? texts.ended : texts.revoked) : texts.live}
        </Tag>
        {!ended && (
          <>
            <Act
              label={texts.rotate}
              missing={missing}
              onClick={() => onOpen({ name: 'rotate', key: item })}
            />
            <Act
              label={texts.revoke}
              missing={missing}
              onClick={() => onOpen({ name: 'revoke', key: item })}
            />
          </>
        )}
      </div>
      <code className="mono key-facts">{prefix}…</code>
      <span className="key-facts">{facts.join(' · ')}</span>
      {permissions !== null && permissions.length > 0 && (
        <span className="key-facts mono">{permissions.join(', ')}</span>
      )}
    </li>
  );
}

type RevokeProps = { accountId: string; item: ApiKey; onClose: () => void };

function Revoke({ accountId, item, onClose }: RevokeProps): ReactElement {
  const texts = t.serviceAccounts.keys;
  const [isWith, setIsWith] = useState(false);
  const write = useWrite(
    () =>
      call('DELETE /api/v1/service-accounts/{service_account_id}/keys/{key_id}', {
        path: { service_account_id: accountId, key_id: item.id },
        ...(isWith ? { query: { with: 'descendants' as const } } : {}),
      }),
    ({ data: { descendants } }) => {
      const others = isWith ? texts.descendantsRevoked : texts.descendantsLeft;
      notifyDone([texts.revokedDone(item.name), ...(descendants > 0 ? [others(descendants)] : [])].join(' '));
      onClose();
    },
  );
  return (
    <ConfirmDialog
      title={texts.revokeTitle(item.name)}
      confirmLabel={texts.revoke}
      isDangerous
      isPending={write.isPending}
      error={write.error}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
    >
      <p>{texts.revokeText}</p>
      <Checkbox
        label={texts.revokeDescendants}
        checked={isWith}
        onChange={(event) => setIsWith(event.currentTarget.checked)}
      />
    </ConfirmDialog>
  );
}
