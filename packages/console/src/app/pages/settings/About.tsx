// Version, address and health of the service, and its documents.
import type { Setting } from '@castellan/sdk';
import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { addressOf, pageSettings } from '../../../common/page-settings.ts';
import { Tag } from '../../components/text/badges.tsx';
import { reading } from '../../data/api.ts';
import { t } from '../../text.ts';

const HEALTH_MS = 15_000;

export function About({ settings }: { settings: readonly Setting[] }): ReactElement {
  const texts = t.settings.about;
  const health = useQuery({ ...reading('GET /health/ready', {}), refetchInterval: HEALTH_MS });
  const isReady = health.data?.status === 'ready';
  const address = settings.find(({ name }) => name === 'PUBLIC_URL')?.value ?? location.origin;
  return (
    <section aria-labelledby="about" className="settings-group">
      <h2 className="section-title" id="about">
        {texts.title}
      </h2>
      <dl className="panel about">
        <div>
          <dt>{texts.version}</dt>
          <dd data-raw>{pageSettings.version}</dd>
        </div>
        <div>
          <dt>{texts.address}</dt>
          <dd data-raw>{address}</dd>
        </div>
        <div>
          <dt>{texts.health}</dt>
          <dd>
            {health.isPending ? (
              texts.checking
            ) : (
              <Tag tone={isReady ? 'good' : 'bad'}>{isReady ? texts.ready : texts.notReady}</Tag>
            )}
          </dd>
        </div>
        <div>
          <dt>{texts.documents}</dt>
          <dd className="about-links">
            <a href={addressOf('/docs/openapi.json')}>{texts.openapi}</a>
            <a href={addressOf('/docs/errors')}>{texts.errors}</a>
          </dd>
        </div>
      </dl>
    </section>
  );
}
