// The frame in grey, as app.html shows it before the app runs.
import type { ReactElement } from 'react';

const lines = ['title', 'one', 'two', 'three', 'four', 'five', 'six', 'seven'];

export const Boot = (): ReactElement => (
  <div className="boot" aria-hidden="true">
    <div className="boot-header" />
    <div className="boot-nav" />
    <div className="boot-main">
      {lines.map((line) => (
        <i key={line} />
      ))}
    </div>
  </div>
);
