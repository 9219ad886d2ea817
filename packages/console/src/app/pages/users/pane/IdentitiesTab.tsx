// The accounts elsewhere that a user signs in with. Disconnects one: nobody but the user can connect one.
import type { ConnectedIdentity, User } from '@castellan/sdk';
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { ConfirmDialog } from '../../../components/dialogs/ConfirmDialog.tsx';
import { IdentityItem } from '../../../components/identities/IdentityItem.tsx';
import { ForbiddenPart } from '../../../components/page/Forbidden.tsx';
import { LoadingLines } from '../../../components/page/LoadingLines.tsx';
import { notifyDone } from '../../../components/page/notify.tsx';
import { ReadErrors } from '../../../components/page/states.tsx';
import { call, reading, useWrite } from '../../../data/api.ts';
import { nameOf, useMe } from '../../../data/me.tsx';
import { later, t } from '../../../text.ts';
import { ActionButton } from '../ActionButton.tsx';
import type { UserRules } from '../rules.ts';

type Props = { user: User; rules: UserRules };

export function IdentitiesTab({ user, rules }: Props): ReactElement {
  const texts = later.identities;
  const { can } = useMe();
  const mayRead = can('users.read');
  const query = useQuery({
    ...reading('GET /api/v1/users/{user_id}/identities', { path: { user_id: user.id } }),
    enabled: mayRead,
  });
  const [ended, setEnded] = useState<ConnectedIdentity | null>(null);
  if (!mayRead) return <ForbiddenPart permission="users.read" page={t.users.tabs.identities} />;
  const identities = query.data?.data;
  return (
    <section className="pane-section" aria-labelledby="user-identities">
      <h3 id="user-identities" className="section-title">
        {t.users.tabs.identities}
      </h3>
      <ReadErrors of={[query]} />
      {!identities && !query.error && <LoadingLines />}
      {identities && <p className="muted">{identities.length === 0 ? texts.user.none : texts.user.text}</p>}
      {identities && identities.length > 0 && (
        <ul className="key-list" aria-label={t.users.tabs.identities}>
          {identities.map((identity) => (
            <IdentityItem
              key={identity.id}
              identity={identity}
              action={
                <ActionButton reason={rules.edit} isDangerous onClick={() => setEnded(identity)}>
                  {texts.own.disconnect}
                </ActionButton>
              }
            />
          ))}
        </ul>
      )}
      {ended && <Disconnect user={user} identity={ended} onClose={() => setEnded(null)} />}
    </section>
  );
}

type EndProps = { user: User; identity: ConnectedIdentity; onClose: () => void };

function Disconnect({ user, identity: { id, provider }, onClose }: EndProps): ReactElement {
  const texts = later.identities;
  const write = useWrite(
    () =>
      call('DELETE /api/v1/users/{user_id}/identities/{identity_id}', {
        path: { user_id: user.id, identity_id: id },
      }),
    () => {
      notifyDone(texts.own.disconnected(provider.name));
      onClose();
    },
  );
  return (
    <ConfirmDialog
      title={texts.user.ask(provider.name, nameOf(user))}
      confirmLabel={texts.own.disconnect}
      isDangerous
      isPending={write.isPending}
      error={write.error}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
    >
      <p>{texts.user.askText}</p>
    </ConfirmDialog>
  );
}
