// The accounts elsewhere that one signs in with: connect and disconnect. Each change needs a fresh proof.
import type { ConnectedIdentity, OwnIdentities } from '@castellan/sdk';
import { Button, Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { ConfirmDialog } from '../../components/dialogs/ConfirmDialog.tsx';
import { IdentityItem } from '../../components/identities/IdentityItem.tsx';
import { LoadingLines } from '../../components/page/LoadingLines.tsx';
import { notifyDone } from '../../components/page/notify.tsx';
import { ErrorAlert, ReadErrors } from '../../components/page/states.tsx';
import { useWrite } from '../../data/api.ts';
import { isCode } from '../../data/errors.ts';
import { disconnect, ownIdentities, startConnecting } from '../../data/identities/own-identities.ts';
import { later } from '../../text.ts';

export function MyIdentities({ titleId }: { titleId: string }): ReactElement {
  const texts = later.identities.own;
  const query = useQuery(ownIdentities);
  const [ended, setEnded] = useState<ConnectedIdentity | null>(null);
  const own = query.data?.data;
  const isEmpty = own?.identities.length === 0;
  return (
    <>
      <h2 className="section-title" id={titleId}>
        {texts.title}
      </h2>
      {own && <p className="muted">{isEmpty ? texts.empty : texts.text}</p>}
      <ReadErrors of={[query]} />
      {!own && !query.error && <LoadingLines />}
      {own && !isEmpty && (
        <ul className="key-list" aria-label={texts.title}>
          {own.identities.map((identity) => (
            <IdentityItem
              key={identity.id}
              identity={identity}
              action={
                <Button
                  variant="default"
                  size="xs"
                  aria-label={texts.disconnectOf(identity.provider.name)}
                  onClick={() => setEnded(identity)}
                >
                  {texts.disconnect}
                </Button>
              }
            />
          ))}
        </ul>
      )}
      {own && own.providers.length > 0 && <Connect providers={own.providers} />}
      {ended && <Disconnect identity={ended} onClose={() => setEnded(null)} />}
    </>
  );
}

/** Leads to the provider, and back to this page. "Back" shows the page again as it was left. */
async function leaveFor(provider: string): Promise<void> {
  location.assign(await startConnecting(provider));
  await new Promise((resolve) => window.addEventListener('pageshow', resolve, { once: true }));
}

function Connect({ providers }: Pick<OwnIdentities, 'providers'>): ReactElement {
  const texts = later.identities.own;
  const write = useWrite(leaveFor);
  return (
    <>
      {Boolean(write.error) && <ErrorAlert error={write.error} />}
      <Group gap="xs">
        {providers.map(({ slug, name }) => (
          <Button key={slug} variant="default" loading={write.isPending} onClick={() => write.run(slug)}>
            <span data-raw>{texts.connect(name)}</span>
          </Button>
        ))}
      </Group>
    </>
  );
}

type DisconnectProps = { identity: ConnectedIdentity; onClose: () => void };

function Disconnect({ identity: { id, provider }, onClose }: DisconnectProps): ReactElement {
  const texts = later.identities.own;
  const write = useWrite(
    () => disconnect(id),
    () => {
      notifyDone(texts.disconnected(provider.name));
      onClose();
    },
  );
  const isLast = isCode(write.error, 'last_sign_in_method');
  return (
    <ConfirmDialog
      title={texts.ask(provider.name)}
      confirmLabel={texts.disconnect}
      isDangerous
      isPending={write.isPending}
      error={isLast ? null : write.error}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
      isDisabled={isLast}
    >
      <p>{texts.askText}</p>
      {isLast && (
        <p role="alert" className="note note-warn">
          {texts.last}
        </p>
      )}
    </ConfirmDialog>
  );
}
