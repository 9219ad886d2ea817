// What tokens would tell the application about a person. Nothing is issued.
import type { Application } from '@castellan/sdk';
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { PersonPicker } from '../../../components/forms/PersonPicker.tsx';
import { LoadingLines } from '../../../components/page/LoadingLines.tsx';
import { ReadErrors } from '../../../components/page/states.tsx';
import { Tag } from '../../../components/text/badges.tsx';
import { call } from '../../../data/api.ts';
import { useCan } from '../../../data/me.tsx';
import { later, t } from '../../../text.ts';

export function ClaimsTab({ application }: { application: Application }): ReactElement {
  const texts = later.applications.page.preview;
  const mayRead = useCan('users.read');
  const [person, setPerson] = useState<string>();
  return (
    <>
      <p className="muted">{texts.text}</p>
      {!mayRead && <p className="muted">{t.common.forbidden.reason('users.read')}</p>}
      {mayRead && (
        <div className="claims-person">
          <PersonPicker label={texts.person} value={person} onChange={setPerson} />
        </div>
      )}
      {mayRead && person !== undefined && <Claims applicationId={application.id} userId={person} />}
    </>
  );
}

function Claims({ applicationId, userId }: { applicationId: string; userId: string }): ReactElement {
  const texts = later.applications.page.preview;
  const query = useQuery({
    queryKey: ['POST /api/v1/applications/{application_id}/claims-preview', applicationId, userId],
    queryFn: ({ signal }) =>
      call('POST /api/v1/applications/{application_id}/claims-preview', {
        path: { application_id: applicationId },
        body: { user_id: userId },
        signal,
      }),
  });
  const claims = query.data?.data;
  return (
    <>
      <ReadErrors of={[query]} />
      {!claims && !query.error && <LoadingLines />}
      {claims && (
        <div aria-live="polite">
          <p>
            <Tag tone={claims.may_sign_in ? 'good' : 'gray'}>
              {claims.may_sign_in ? texts.maySignIn : texts.mayNotSignIn}
            </Tag>
          </p>
          {claims.id_token_overage && <p>{texts.overage}</p>}
          <div className="claims">
            <Json title={texts.idToken} value={claims.id_token} />
            <Json title={texts.userinfo} value={claims.userinfo} />
          </div>
        </div>
      )}
    </>
  );
}

const INDENT = 2;

const Json = ({ title, value }: { title: string; value: object }): ReactElement => (
  <figure className="configuration">
    <figcaption>{title}</figcaption>
    <pre className="mono">{JSON.stringify(value, null, INDENT)}</pre>
  </figure>
);
