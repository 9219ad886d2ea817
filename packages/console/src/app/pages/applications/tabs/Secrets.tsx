// The secrets of an application: create, revoke. A secret is shown once, in the dialog that creates it.
import type { Application, ApplicationSecret, NewApplicationSecret } from '@castellan/sdk';
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { formatAgo, formatDay } from '../../../../common/format.ts';
import { ConfirmDialog } from '../../../components/dialogs/ConfirmDialog.tsx';
import { ReasonButton } from '../../../components/forms/ReasonButton.tsx';
import { LoadingLines } from '../../../components/page/LoadingLines.tsx';
import { notifyDone } from '../../../components/page/notify.tsx';
import { Empty, ReadErrors } from '../../../components/page/states.tsx';
import { NewSecretDialog } from '../../../components/secrets/NewSecretDialog.tsx';
import { SecretDialog } from '../../../components/secrets/SecretDialog.tsx';
import { Tag } from '../../../components/text/badges.tsx';
import { call, reading, useWrite } from '../../../data/api.ts';
import { useCan } from '../../../data/me.tsx';
import { later, t } from '../../../text.ts';

export function Secrets({ application }: { application: Application }): ReactElement {
  const texts = later.applications.page.secrets;
  const path = { application_id: application.id };
  const query = useQuery(reading('GET /api/v1/applications/{application_id}/secrets', { path }));
  const mayUpdate = useCan('application.update');
  const reason = mayUpdate ? null : t.common.forbidden.reason('application.update');
  const [isCreating, setCreating] = useState(false);
  const [revoked, setRevoked] = useState<ApplicationSecret | null>(null);
  const [made, setMade] = useState<NewApplicationSecret | null>(null);
  const secrets = query.data?.data;
  return (
    <>
      <div className="rule">
        <p className="muted">{application.auth_method === 'secret' ? texts.text : texts.unused}</p>
        <ReasonButton variant="default" reason={reason} onClick={() => setCreating(true)}>
          {texts.create}
        </ReasonButton>
      </div>
      <ReadErrors of={[query]} />
      {!secrets && !query.error && <LoadingLines />}
      {secrets?.length === 0 && <Empty title={texts.empty} text={texts.emptyText} headingLevel={2} />}
      {secrets && secrets.length > 0 && (
        <ul className="key-list" aria-label={texts.label}>
          {secrets.map((secret) => (
            <li key={secret.id} aria-label={secret.name}>
              <div className="key-head">
                <strong data-raw>{secret.name}</strong>
                {isOver(secret) && <Tag>{t.serviceAccounts.keys.ended}</Tag>}
                <ReasonButton variant="default" reason={reason} onClick={() => setRevoked(secret)}>
                  {t.serviceAccounts.keys.revoke}
                </ReasonButton>
              </div>
              <code className="mono key-facts">{secret.prefix}…</code>
              <span className="key-facts">{factsOf(secret).join(' · ')}</span>
            </li>
          ))}
        </ul>
      )}
      {isCreating && (
        <NewSecretDialog
          texts={{
            create: texts.create,
            name: texts.name,
            nameHelp: texts.nameHelp,
            expires: t.serviceAccounts.keys.expires,
            expiresHelp: texts.expiresHelp,
          }}
          make={(body) => call('POST /api/v1/applications/{application_id}/secrets', { path, body })}
          onClose={() => setCreating(false)}
          onMade={(secret) => {
            setCreating(false);
            setMade(secret);
          }}
        />
      )}
      {revoked && <Revoke applicationId={application.id} secret={revoked} onClose={() => setRevoked(null)} />}
      {made && (
        <SecretDialog
          secret={made.secret ?? null}
          name={made.name}
          texts={texts.made}
          onClose={() => setMade(null)}
        />
      )}
    </>
  );
}

const isOver = ({ expires_at }: ApplicationSecret): boolean =>
  expires_at !== null && Date.parse(expires_at) <= Date.now();

function factsOf(secret: ApplicationSecret): string[] {
  const { never, expiresOn, expiredOn, used, unused } = t.serviceAccounts.keys;
  const { expires_at, last_used_at } = secret;
  return [
    expires_at === null
      ? never
      : isOver(secret)
        ? expiredOn(formatDay(expires_at))
        : expiresOn(formatDay(expires_at)),
    last_used_at === null ? unused : `${used}: ${formatAgo(last_used_at)}`,
  ];
}

type RevokeProps = { applicationId: string; secret: ApplicationSecret; onClose: () => void };

function Revoke({ applicationId, secret, onClose }: RevokeProps): ReactElement {
  const texts = later.applications.page.secrets;
  const write = useWrite(
    () =>
      call('DELETE /api/v1/applications/{application_id}/secrets/{secret_id}', {
        path: { application_id: applicationId, secret_id: secret.id },
      }),
    () => {
      notifyDone(texts.revoked(secret.name));
      onClose();
    },
  );
  return (
    <ConfirmDialog
      title={texts.revokeTitle(secret.name)}
      confirmLabel={t.serviceAccounts.keys.revoke}
      isDangerous
      isPending={write.isPending}
      error={write.error}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
    >
      <p>{texts.revokeText}</p>
    </ConfirmDialog>
  );
}
