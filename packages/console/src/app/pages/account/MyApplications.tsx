// The applications that one uses or agreed to, and the way to take that back.
import type { OwnApplication } from '@castellan/sdk';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { formatDay } from '../../../common/format.ts';
import { accessTimes } from '../../components/applications/access.ts';
import { ConfirmDialog } from '../../components/dialogs/ConfirmDialog.tsx';
import { LoadingLines } from '../../components/page/LoadingLines.tsx';
import { notifyDone } from '../../components/page/notify.tsx';
import { ReadErrors } from '../../components/page/states.tsx';
import { Tag } from '../../components/text/badges.tsx';
import { call, reading, useWrite } from '../../data/api.ts';
import { isCode } from '../../data/errors.ts';
import { later } from '../../text.ts';
import '../../components/secrets/secrets.css';

export function MyApplications({ titleId }: { titleId: string }): ReactElement {
  const texts = later.applicationAccess.own;
  const query = useQuery(reading('GET /api/v1/users/me/applications', {}));
  const [ended, setEnded] = useState<OwnApplication | null>(null);
  const applications = query.data?.data;
  const isEmpty = applications?.length === 0;
  return (
    <>
      <h2 className="section-title" id={titleId}>
        {texts.title}
      </h2>
      {applications && <p className="muted">{isEmpty ? texts.empty : texts.text}</p>}
      <ReadErrors of={[query]} />
      {!applications && !query.error && <LoadingLines />}
      {applications && !isEmpty && (
        <ul className="key-list" aria-label={texts.label}>
          {applications.map((application) => (
            <One key={application.id} application={application} onEnd={() => setEnded(application)} />
          ))}
        </ul>
      )}
      {ended && <TakeBack application={ended} onClose={() => setEnded(null)} />}
    </>
  );
}

function One({ application, onEnd }: { application: OwnApplication; onEnd: () => void }): ReactElement {
  const texts = later.applicationAccess.own;
  const { name, home_url, access, consent } = application;
  return (
    <li aria-label={name}>
      <div className="key-head">
        <strong data-raw>
          {home_url === null ? (
            name
          ) : (
            <a href={home_url} target="_blank" rel="noreferrer">
              {name}
            </a>
          )}
        </strong>
        {access?.offline && <Tag>{later.applicationAccess.offline}</Tag>}
        {!access && <Tag>{texts.none}</Tag>}
        <Button variant="default" size="xs" aria-label={texts.endOf(name)} onClick={onEnd}>
          {texts.end}
        </Button>
      </div>
      <span className="key-facts">{scopesOf(application).join(' · ')}</span>
      {consent && consent.permissions.length > 0 && (
        <div className="key-facts">
          {texts.permissions}
          <ul data-raw>
            {consent.permissions.map((permission) => (
              <li key={permission.name}>
                <span className="mono">{permission.name}</span> {permission.description}
              </li>
            ))}
          </ul>
        </div>
      )}
      {access && <span className="key-facts">{accessTimes(access)}</span>}
      {consent && <span className="key-facts">{texts.agreed(formatDay(consent.agreed_at))}</span>}
      <Papers {...application} />
    </li>
  );
}

/** Returns what the application may do: what is known in the order of the texts, then other scopes by their names. */
function scopesOf({ access, consent }: OwnApplication): string[] {
  const { scopeTexts } = later.applicationAccess.own;
  const scopes = access?.scopes ?? consent?.scopes ?? [];
  return [
    ...Object.entries(scopeTexts).flatMap(([scope, text]) => (scopes.includes(scope) ? [text] : [])),
    ...scopes.filter((scope) => scopeTexts[scope] === undefined),
  ];
}

function Papers({ policy_url, terms_url }: OwnApplication): ReactElement | null {
  const texts = later.applicationAccess.own;
  const links = [
    { url: policy_url, text: texts.policy },
    { url: terms_url, text: texts.terms },
  ].flatMap(({ url, text }) => (url === null ? [] : [{ url, text }]));
  if (links.length === 0) return null;
  return (
    <span className="key-facts application-papers">
      {links.map(({ url, text }) => (
        <a key={text} href={url} target="_blank" rel="noreferrer">
          {text}
        </a>
      ))}
    </span>
  );
}

/** What is gone already is as good as taken back. */
async function takeBack(id: string): Promise<void> {
  try {
    await call('DELETE /api/v1/users/me/applications/{application_id}', { path: { application_id: id } });
  } catch (error) {
    if (!isCode(error, 'application_not_found')) throw error;
  }
}

function TakeBack({
  application,
  onClose,
}: {
  application: OwnApplication;
  onClose: () => void;
}): ReactElement {
  const texts = later.applicationAccess.own;
  const write = useWrite(
    () => takeBack(application.id),
    () => {
      notifyDone(texts.ended(application.name));
      onClose();
    },
  );
  return (
    <ConfirmDialog
      title={texts.ask(application.name)}
      confirmLabel={texts.end}
      isDangerous
      isPending={write.isPending}
      error={write.error}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
    >
      <p>{texts.askText}</p>
    </ConfirmDialog>
  );
}
