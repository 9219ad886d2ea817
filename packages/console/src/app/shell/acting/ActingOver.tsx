// Takes the place of every page when the person no longer acts as another user. Only a page that loads anew goes on, as themselves.
import { Button } from '@mantine/core';
import type { ReactElement } from 'react';
import { type ActingEnd, leaveActing } from '../../data/acting/acting.ts';
import { later } from '../../text.ts';

export function ActingOver({ name, why }: { name: string; why: ActingEnd }): ReactElement {
  const texts = later.acting.over;
  return (
    <main className="acting-over">
      <div role="alert">
        <h1>{texts.title(name)}</h1>
        <p>{texts[why]}</p>
      </div>
      <Button onClick={leaveActing} autoFocus>
        {texts.onward}
      </Button>
    </main>
  );
}
