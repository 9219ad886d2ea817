// Asks whether an application, or a device, may have what it asks for. Allow and deny weigh the same.
import { type ReactElement, useState } from 'react';
import { formatAgo, formatDay } from '../../../common/format.ts';
import { useAnswer } from '../../interaction/answering.ts';
import { type Interaction, sendConsent } from '../../interaction/calls.ts';
import { asked } from '../../interaction/text.ts';
import { Frame, noticeOf } from '../../parts.tsx';
import { Choice, nameOf, SignedInAs, type StepProps } from './parts.tsx';

type Asked = NonNullable<Interaction['consent']>;

/** Always granted: without it, no application learns who signed in. */
const FIXED = 'openid';

const textOf = ({ name, text }: Asked['scopes'][number]): string => asked.consent.scopeTexts[name] ?? text;

export function Consent({ id, interaction, onEnd }: StepProps): ReactElement {
  const { consent, device } = interaction;
  const all = consent?.scopes.map(({ name }) => name) ?? [];
  const [left, setLeft] = useState<readonly string[]>([]);
  const scopes = all.filter((name) => !left.includes(name));
  // At the first request, everything would be.
  const hasKnown = consent?.scopes.some(({ is_new }) => !is_new) ?? false;
  const allow = useAnswer(
    () => sendConsent(id, { decision: 'allow', ...(left.length > 0 && { scopes }) }),
    onEnd,
  );
  const deny = useAnswer(() => sendConsent(id, { decision: 'deny' }), onEnd);
  const isBusy = allow.isPending || deny.isPending;
  const toggle = (name: string): void =>
    setLeft(left.includes(name) ? left.filter((one) => one !== name) : [...left, name]);
  return (
    <Frame title={asked.consent.title(nameOf(interaction))} notice={noticeOf(allow.error ?? deny.error)}>
      {device ? <Device {...device} /> : <Host {...interaction} />}
      <SignedInAs {...interaction} />
      {consent && (
        <>
          <fieldset>
            <legend>{asked.consent.scopes}</legend>
            {consent.scopes.map((scope) => (
              <label className="check" key={scope.name}>
                <input
                  type="checkbox"
                  checked={!left.includes(scope.name)}
                  disabled={scope.name === FIXED}
                  onChange={() => toggle(scope.name)}
                />
                <span>
                  {textOf(scope)} {scope.is_new && hasKnown && <em>{asked.consent.isNew}</em>}
                </span>
              </label>
            ))}
          </fieldset>
          <Permissions {...consent} />
          <p className="muted">{lastingOf(consent, left)}</p>
        </>
      )}
      <p className="pair">
        <Choice work={allow} isBusy={isBusy} isSecondary>
          {asked.consent.allow}
        </Choice>
        <Choice work={deny} isBusy={isBusy} isSecondary>
          {asked.consent.deny}
        </Choice>
      </p>
      <Papers {...interaction} />
    </Frame>
  );
}

/** Whether the access lasts without the person, and until when. */
function lastingOf({ offline, until }: Asked, left: readonly string[]): string {
  const texts = asked.consent;
  const isOffline = offline && !left.includes('offline_access');
  const lasting = isOffline ? texts.offline(formatDay(until)) : texts.session(formatDay(until));
  return `${lasting} ${texts.withdraw}`;
}

function Permissions({ permissions }: Pick<Asked, 'permissions'>): ReactElement | null {
  if (permissions.length === 0) return null;
  return (
    <section className="asked">
      <h2>{asked.consent.permissions}</h2>
      <ul data-raw>
        {permissions.map(({ name, description }) => (
          <li key={name}>
            <code>{name}</code>
            {description && ` ${description}`}
          </li>
        ))}
      </ul>
    </section>
  );
}

const Host = ({ application }: Pick<Interaction, 'application'>): ReactElement => (
  <p>
    {application?.host ? (
      <>
        {asked.consent.host} <b data-raw>{application.host}</b>
      </>
    ) : (
      asked.consent.native
    )}
  </p>
);

const Device = ({ address, user_agent, asked_at }: NonNullable<Interaction['device']>): ReactElement => (
  <>
    <div className="notice error">
      <p>
        <b>{asked.device.warning}</b> {asked.device.warningText}
      </p>
    </div>
    <dl>
      <dt>{asked.device.from}</dt>
      <dd data-raw>{address}</dd>
      <dt>{asked.device.program}</dt>
      <dd data-raw>{user_agent || asked.device.unnamed}</dd>
      <dt>{asked.device.when}</dt>
      <dd>
        <time dateTime={asked_at}>{formatAgo(asked_at)}</time>
      </dd>
    </dl>
  </>
);

/** The policy and the terms of the application, in a new window: the request waits here. */
function Papers({ application }: Pick<Interaction, 'application'>): ReactElement | null {
  const links = [
    [application?.policy_url, asked.consent.policy],
    [application?.terms_url, asked.consent.terms],
  ].filter(([url]) => url);
  if (links.length === 0) return null;
  return (
    <p className="links">
      {links.map(([url, text]) => (
        <a key={text} href={url ?? ''} target="_blank" rel="noreferrer">
          {text}
        </a>
      ))}
    </p>
  );
}
