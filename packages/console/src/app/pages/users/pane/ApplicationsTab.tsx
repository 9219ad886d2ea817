// The applications that a user uses. Ends what one of them has.
import type { User, UserApplication } from '@castellan/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactElement, useState } from 'react';
import { accessTimes } from '../../../components/applications/access.ts';
import { ConfirmDialog } from '../../../components/dialogs/ConfirmDialog.tsx';
import { ForbiddenPart } from '../../../components/page/Forbidden.tsx';
import { LoadingLines } from '../../../components/page/LoadingLines.tsx';
import { notifyDone } from '../../../components/page/notify.tsx';
import { ReadErrors } from '../../../components/page/states.tsx';
import { Tag } from '../../../components/text/badges.tsx';
import { call, reading, useWrite } from '../../../data/api.ts';
import { nameOf, useMe } from '../../../data/me.tsx';
import { later, t } from '../../../text.ts';
import { ActionButton } from '../ActionButton.tsx';
import type { UserRules } from '../rules.ts';
import '../../../components/secrets/secrets.css';

type Props = { user: User; rules: UserRules };

export function ApplicationsTab({ user, rules }: Props): ReactElement {
  const texts = later.applicationAccess.user;
  const { can } = useMe();
  const missing = ['users.read', 'application.read'].find((permission) => !can(permission));
  const query = useQuery({
    ...reading('GET /api/v1/users/{user_id}/applications', { path: { user_id: user.id } }),
    enabled: missing === undefined,
  });
  const [ended, setEnded] = useState<UserApplication | null>(null);
  if (missing !== undefined) return <ForbiddenPart permission={missing} page={t.users.tabs.applications} />;
  const applications = query.data?.data;
  return (
    <section className="pane-section" aria-labelledby="user-applications">
      <h3 id="user-applications" className="section-title">
        {t.users.tabs.applications}
      </h3>
      <ReadErrors of={[query]} />
      {!applications && !query.error && <LoadingLines />}
      {applications && <p className="muted">{applications.length === 0 ? texts.none : texts.text}</p>}
      {applications && applications.length > 0 && (
        <ul className="key-list" aria-label={t.users.tabs.applications}>
          {applications.map((application) => (
            <li key={application.id} aria-label={application.name}>
              <div className="key-head">
                <strong data-raw>
                  <Link
                    to="/applications/$id"
                    params={{ id: application.id }}
                    search={{ tab: 'people', person: user.id }}
                  >
                    {application.name}
                  </Link>
                </strong>
                {application.access.offline && <Tag>{later.applicationAccess.offline}</Tag>}
                <ActionButton reason={rules.applications} isDangerous onClick={() => setEnded(application)}>
                  {later.applicationAccess.people.end}
                </ActionButton>
              </div>
              <span className="key-facts">{texts.signIns(application.access.grants)}</span>
              <span className="key-facts mono">{application.access.scopes.join(' ')}</span>
              <span className="key-facts">{accessTimes(application.access)}</span>
            </li>
          ))}
        </ul>
      )}
      {ended && <End user={user} application={ended} onClose={() => setEnded(null)} />}
    </section>
  );
}

type EndProps = { user: User; application: UserApplication; onClose: () => void };

function End({ user, application, onClose }: EndProps): ReactElement {
  const texts = later.applicationAccess.user;
  const write = useWrite(
    () =>
      call('DELETE /api/v1/users/{user_id}/applications/{application_id}', {
        path: { user_id: user.id, application_id: application.id },
      }),
    () => {
      notifyDone(texts.ended(application.name));
      onClose();
    },
  );
  return (
    <ConfirmDialog
      title={texts.ask(application.name, nameOf(user))}
      confirmLabel={later.applicationAccess.people.end}
      isDangerous
      isPending={write.isPending}
      error={write.error}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
    >
      <p>
        {texts.askText} {later.applicationAccess.people.ends(application.access.grants)}
      </p>
    </ConfirmDialog>
  );
}
