// Beside the form: what the settings do to whom, and the addresses to register at the provider.
import { Button, CopyButton } from '@mantine/core';
import type { ReactElement } from 'react';
import { later, t } from '../../text.ts';
import { happenings, type Settings } from './happens.ts';

export function Happens(settings: Settings): ReactElement {
  const texts = later.identityProviders.happens;
  return (
    <section className="panel facts" aria-labelledby="happens">
      <h2 className="section-title" id="happens">
        {texts.title}
      </h2>
      <p className="muted">{texts.text}</p>
      <dl data-raw>
        {happenings(settings, texts).map(({ who, what }) => (
          <div key={`${who} ${what[0]}`}>
            <dt>{who}</dt>
            {what.map((one) => (
              <dd key={one}>{one}</dd>
            ))}
          </div>
        ))}
      </dl>
    </section>
  );
}

type AddressesProps = {
  redirect: string | null;
  /** Null where the provider tells nobody of sign-outs. */
  backchannel: string | null;
  /** Where people come back to from a sign-out there; null where they are not sent there. */
  afterSignOut?: string | null;
};

export function Addresses({ redirect, backchannel, afterSignOut = null }: AddressesProps): ReactElement {
  const texts = later.identityProviders.addresses;
  return (
    <section className="panel facts" aria-labelledby="addresses">
      <h2 className="section-title" id="addresses">
        {texts.title}
      </h2>
      {redirect === null ? (
        <p className="muted">{texts.slugFirst}</p>
      ) : (
        <>
          <Address label={texts.redirect} help={texts.redirectHelp} address={redirect} />
          {backchannel !== null && (
            <Address label={texts.backchannel} help={texts.backchannelHelp} address={backchannel} />
          )}
          {afterSignOut !== null && (
            <Address label={texts.afterSignOut} help={texts.afterSignOutHelp} address={afterSignOut} />
          )}
        </>
      )}
    </section>
  );
}

const Address = ({
  label,
  help,
  address,
}: {
  label: string;
  help: string;
  address: string;
}): ReactElement => (
  <div className="address">
    <strong>{label}</strong>
    <span className="muted">{help}</span>
    <code className="mono">{address}</code>
    <CopyButton value={address}>
      {({ copied, copy }) => (
        <Button size="compact-sm" variant="default" aria-description={label} onClick={copy}>
          {copied ? t.common.actions.copied : t.common.actions.copy}
        </Button>
      )}
    </CopyButton>
  </div>
);
