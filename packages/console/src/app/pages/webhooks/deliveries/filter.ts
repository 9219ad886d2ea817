// The filters of deliveries between the address, where days are texts, and the service.
import type { WebhookDelivery } from '@castellan/sdk';
import type { Zone } from '../../../../common/format.ts';
import { fromInput } from '../../../components/forms/date-time.ts';
import type { DeliveryFilter } from '../../../data/webhooks/deliveries.ts';

/** `from` and `to` are days, such as 2026-11-03, both inclusive. */
export type DeliverySearch = {
  state?: WebhookDelivery['state'] | undefined;
  type?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
};

export const isFiltered = ({ state, type, from, to }: DeliverySearch): boolean =>
  [state, type, from, to].some((one) => one !== undefined);

/** Returns the day after, by the calendar. */
function dayAfter(day: string): string {
  const next = new Date(`${day}T00:00:00Z`);
  next.setUTCDate(next.getUTCDate() + 1);
  return next.toISOString().slice(0, 10);
}

const startOf = (day: string | undefined, zone: Zone): string | undefined =>
  day === undefined ? undefined : fromInput(`${day}T00:00`, zone);

/** Returns what to ask the service for. */
export function toFilter({ state, type, from, to }: DeliverySearch, zone: Zone): DeliveryFilter {
  const begin = startOf(from, zone);
  const end = startOf(to && dayAfter(to), zone);
  return {
    ...(state ? { state } : {}),
    ...(type ? { type } : {}),
    ...(begin ? { from: begin } : {}),
    ...(end ? { to: end } : {}),
  };
}
