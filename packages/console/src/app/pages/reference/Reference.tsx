// The API reference inside the frame. Its viewer is a library that the service serves; requests go out as the person.
import { Button, useComputedColorScheme } from '@mantine/core';
import { type ReactElement, useEffect, useRef, useState } from 'react';
import { addressOf } from '../../../common/page-settings.ts';
import { PageHeader } from '../../components/page/PageHeader.tsx';
import { t } from '../../text.ts';
import './reference.css';
import { showReference } from './viewer.ts';

type State = 'loading' | 'shown' | 'failed';

export function Reference(): ReactElement {
  const texts = t.reference;
  const scheme = useComputedColorScheme('light');
  const box = useRef<HTMLDivElement>(null);
  const [state, setState] = useState<State>('loading');
  const [attempt, setAttempt] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt loads again
  useEffect(() => {
    const target = box.current;
    if (!target) return;
    const abort = new AbortController();
    setState('loading');
    showReference(target, scheme, abort.signal).then(
      () => setState('shown'),
      () => {
        if (!abort.signal.aborted) setState('failed');
      },
    );
    return () => abort.abort();
  }, [scheme, attempt]);
  return (
    <>
      <section aria-label={texts.title}>
        <PageHeader
          title={texts.title}
          note={texts.text}
          actions={
            <>
              <a className="reference-link" href={addressOf('/docs/errors')}>
                {texts.errors}
              </a>
              <a className="reference-link" href={addressOf('/docs/openapi.json')}>
                {texts.openapi}
              </a>
              <a className="reference-link" href={addressOf('/docs')}>
                {texts.alone}
              </a>
            </>
          }
        />
      </section>
      {state === 'failed' && (
        <div className="banner" role="alert">
          <p>{texts.failed}</p>
          <Button size="compact-sm" variant="default" onClick={() => setAttempt(attempt + 1)}>
            {t.common.actions.retry}
          </Button>
        </div>
      )}
      {state === 'loading' && (
        <div className="table-card skeletons" role="status" aria-busy="true" aria-label={texts.title}>
          <i />
          <i />
          <i />
        </div>
      )}
      <div className="reference" data-state={state} ref={box} lang="en" dir="ltr" />
    </>
  );
}
