// Beside the form: an event as the endpoint would get it, and which of its members are personal.
import type { EventDescription } from '@castellan/sdk';
import { NativeSelect } from '@mantine/core';
import type { ReactElement } from 'react';
import { later } from '../../../text.ts';
import { meaningOf } from '../event-texts.ts';
import { personalMembers, sampleFor } from './sample.ts';

type Props = {
  catalogue: readonly EventDescription[];
  /** The types to choose from, and the one that shows. */
  types: readonly string[];
  shown: string;
  isPersonal: boolean;
  onShow: (type: string) => void;
};

export function Sample({ catalogue, types, shown, isPersonal, onShow }: Props): ReactElement | null {
  const texts = later.webhooks.sample;
  const event = catalogue.find(({ type }) => type === shown);
  if (!event) return null;
  const members = personalMembers(event.schema);
  return (
    <section className="panel event-sample" aria-labelledby="sample">
      <h2 className="section-title" id="sample">
        {texts.title}
      </h2>
      <NativeSelect
        label={texts.type}
        value={shown}
        data={types.includes(shown) ? [...types] : [shown, ...types]}
        onChange={(change) => onShow(change.currentTarget.value)}
        data-raw
      />
      <p className="muted" data-raw>
        {meaningOf(event)}
      </p>
      <pre className="mono event-json">{JSON.stringify(sampleFor(event, isPersonal), null, 2)}</pre>
      <p className="muted">{texts.more}</p>
      {members.length > 0 && (
        <>
          <p>{isPersonal ? texts.personal : texts.notPersonal}</p>
          <ul className="member-list mono">
            {members.map((member) => (
              <li key={member}>{member}</li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
