// Sign-ins and refusals by day as lines, readable by keyboard day by day, and as a table. Today is not over: it has marks
// of its own beside the lines.
// It must not fetch: it draws the days that it is given.
import type { ActivityDay } from '@castellan/sdk';
import { type PointerEvent, type ReactElement, useId, useState } from 'react';
import { formatNumber } from '../../../common/format.ts';
import { locale } from '../../../common/language.ts';
import { t } from '../../text.ts';
import './charts.css';
import { areaOf, lineOf, markOf, niceMax, pointsOf } from './scale.ts';

const WIDTH = 600;
const HEIGHT = 160;

/** A day of UTC, whatever the zone of the page is. */
const dayFormat = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', timeZone: 'UTC' });
const nameOfDay = ({ day }: ActivityDay): string => dayFormat.format(new Date(`${day}T00:00:00Z`));

const sentenceOf = (name: string, day: ActivityDay): string =>
  t.overview.trend.day(name, t.overview.trend.signIns(day.sign_ins), t.overview.trend.refusals(day.refusals));

/** The last day is the one that was not over when it was read, as the service counts: a day of UTC, by its own clock. */
export function TrendChart({ days }: { days: readonly ActivityDay[] }): ReactElement | null {
  const [chosen, setChosen] = useState(days.length - 1);
  const id = useId();
  const at = Math.min(chosen, days.length - 1);
  const day = days[at];
  const today = days.at(-1);
  if (!day || !today) return null;
  const labelOf = (one: ActivityDay): string =>
    one === today ? t.overview.trend.soFar(nameOfDay(one)) : nameOfDay(one);
  const max = niceMax(Math.max(...days.map(({ sign_ins, refusals }) => Math.max(sign_ins, refusals))));
  const box = { width: WIDTH, height: HEIGHT, max };
  const signIns = pointsOf(
    days.map(({ sign_ins }) => sign_ins),
    box,
  );
  const refusals = pointsOf(
    days.map(({ refusals: count }) => count),
    box,
  );
  const x = signIns[at]?.[0] ?? 0;

  const follow = (event: PointerEvent<HTMLElement>): void => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const part = (event.clientX - left) / width;
    const along = getComputedStyle(event.currentTarget).direction === 'rtl' ? 1 - part : part;
    setChosen(Math.round(Math.min(1, Math.max(0, along)) * (days.length - 1)));
  };

  return (
    <figure className="trend" aria-labelledby={id}>
      <figcaption id={id} className="trend-legend">
        <span className="trend-key trend-key-in">{t.overview.trend.signInsLabel}</span>
        <span className="trend-key trend-key-out">{t.overview.trend.refusalsLabel}</span>
        <span className="trend-key trend-key-today">{t.overview.trend.todayLabel}</span>
        <output className="trend-day">{sentenceOf(labelOf(day), day)}</output>
      </figcaption>
      <div className="trend-plot" onPointerMove={follow}>
        <span className="trend-max" aria-hidden>
          {formatNumber(max)}
        </span>
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" className="mirrored" aria-hidden>
          <path className="trend-grid" d={`M0 0H${WIDTH} M0 ${HEIGHT / 2}H${WIDTH} M0 ${HEIGHT}H${WIDTH}`} />
          <path className="trend-area" d={areaOf(signIns.slice(0, -1), HEIGHT)} />
          <path className="trend-line trend-in" d={lineOf(signIns.slice(0, -1))} />
          <path className="trend-line trend-out" d={lineOf(refusals.slice(0, -1))} />
          <path className="trend-cursor" d={`M${x} 0V${HEIGHT}`} />
          <path className="trend-mark trend-mark-out" d={markOf(refusals.at(-1))} />
          <path className="trend-mark-hole trend-mark-out" d={markOf(refusals.at(-1))} />
          <path className="trend-mark" d={markOf(signIns.at(-1))} />
          <path className="trend-mark-hole" d={markOf(signIns.at(-1))} />
        </svg>
        <input
          type="range"
          min={0}
          max={days.length - 1}
          value={at}
          aria-label={t.overview.trend.chooseDay}
          aria-valuetext={sentenceOf(labelOf(day), day)}
          onChange={(event) => setChosen(Number(event.currentTarget.value))}
        />
      </div>
      <div className="trend-days" aria-hidden>
        {[days[0], days[Math.floor((days.length - 1) / 2)], days.at(-1)].map(
          (one, index) => one && <time key={`${one.day}-${String(index)}`}>{nameOfDay(one)}</time>,
        )}
      </div>
      <details className="trend-table">
        <summary>{t.overview.trend.table}</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it */}
        <section tabIndex={0} aria-label={t.overview.trend.title}>
          <table>
            <thead>
              <tr>
                <th scope="col">{t.overview.trend.dayLabel}</th>
                <th scope="col">{t.overview.trend.signInsLabel}</th>
                <th scope="col">{t.overview.trend.refusalsLabel}</th>
              </tr>
            </thead>
            <tbody>
              {days.toReversed().map((one) => (
                <tr key={one.day}>
                  <th scope="row">
                    <time>{labelOf(one)}</time>
                  </th>
                  <td>{formatNumber(one.sign_ins)}</td>
                  <td>{formatNumber(one.refusals)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      </details>
    </figure>
  );
}
