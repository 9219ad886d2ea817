// All recipes, in the order in which they are offered.
import { apache } from './apache.ts';
import { gitlab } from './gitlab.ts';
import { grafana } from './grafana.ts';
import { kubectl } from './kubectl.ts';
import { nextcloud } from './nextcloud.ts';
import { oauth2Proxy } from './oauth2-proxy.ts';
import { device, native, spa, web } from './own-programs.ts';
import type { Recipe } from './recipe.ts';

/** By what the address of the page calls them: `?recipe=grafana`. */
export const recipes: ReadonlyMap<string, Recipe> = new Map([
  ['grafana', grafana],
  ['gitlab', gitlab],
  ['nextcloud', nextcloud],
  ['oauth2-proxy', oauth2Proxy],
  ['apache', apache],
  ['kubectl', kubectl],
  ['web', web],
  ['spa', spa],
  ['native', native],
  ['device', device],
]);
