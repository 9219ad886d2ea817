// An application that was just registered: its secret, once, and its configuration to copy.
import type { NewApplication } from '@castellan/sdk';
import { Button, Checkbox, CopyButton, Group } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type ReactElement, useEffect, useRef, useState } from 'react';
import { LeaveGuard } from '../../../components/forms/forms.tsx';
import { later, t } from '../../../text.ts';
import { filled, type Recipe, type Values } from '../recipes/recipe.ts';

type Props = { application: NewApplication; recipe: Recipe; values: Values };

/** Takes the focus, as the form that had it is gone. */
export function Connected({ application, recipe, values }: Props): ReactElement {
  const texts = later.applications.connect;
  const navigate = useNavigate();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const secret = application.client_secret;
  const [isStored, setStored] = useState(secret === undefined);
  const { files } = filled(recipe, {
    ...values,
    client_id: application.client_id,
    client_secret: secret ?? '…',
  });
  const wasLost = application.auth_method === 'secret' && secret === undefined;
  return (
    <section className="panel connected" aria-labelledby="connected">
      <LeaveGuard when={!isStored} of={['recipe']} title={texts.leave} text={texts.leaveText} />
      <h2 id="connected" className="section-title" ref={heading} tabIndex={-1}>
        {texts.done(application.name)}
      </h2>
      {secret === undefined && <p>{wasLost ? texts.secretLost : texts.noSecret}</p>}
      {secret !== undefined && (
        <>
          <p>{texts.secretOnce}</p>
          <dl className="registered">
            <dt>{texts.clientId}</dt>
            <dd className="mono">{application.client_id}</dd>
            <dt>{texts.secret}</dt>
            <dd className="mono" data-testid="secret">
              {secret}
            </dd>
          </dl>
          <Copy text={secret} label={texts.secret} />
        </>
      )}
      <h3>{texts.configuration}</h3>
      <p className="muted">{texts.configurationText}</p>
      {files.map(({ name, text }) => (
        <figure key={name} className="configuration">
          <figcaption>
            <span className="mono">{name}</span>
            <Copy text={`${text}\n`} label={texts.configurationOf(name)} />
          </figcaption>
          <pre className="mono">{text}</pre>
        </figure>
      ))}
      {secret !== undefined && (
        <Checkbox
          label={texts.stored}
          checked={isStored}
          onChange={(event) => setStored(event.currentTarget.checked)}
        />
      )}
      <Group>
        <Button
          disabled={!isStored}
          onClick={() => void navigate({ to: '/applications/$id', params: { id: application.id } })}
        >
          {texts.finish}
        </Button>
      </Group>
    </section>
  );
}

/** `label`: what is copied, for screen readers. */
const Copy = ({ text, label }: { text: string; label: string }): ReactElement => (
  <CopyButton value={text}>
    {({ copied, copy }) => (
      <Button size="compact-sm" variant="default" aria-description={label} onClick={copy}>
        {copied ? t.common.actions.copied : t.common.actions.copy}
      </Button>
    )}
  </CopyButton>
);
