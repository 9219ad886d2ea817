// Kubernetes, with kubelogin as the plugin of kubectl: https://github.com/int128/kubelogin
import type { Recipe } from './recipe.ts';

export const kubectl: Recipe = {
  product: 'kubectl',
  clientId: 'kubernetes',
  type: 'native',
  asks: null,
  example: '',
  application: {
    // The plugin takes the second one where the first port is taken.
    redirect_uris: ['http://localhost:8000', 'http://localhost:18000'],
  },
  files: [
    {
      name: 'kube-apiserver',
      text: `--oidc-issuer-url={issuer}
--oidc-client-id={client_id}
--oidc-username-claim=email
--oidc-groups-claim=groups
--oidc-groups-prefix=castellan:`,
    },
    {
      name: 'kubectl',
      text: `kubectl config set-credentials castellan \\
  --exec-api-version=client.authentication.k8s.io/v1 \\
  --exec-interactive-mode=Never \\
  --exec-command=kubectl \\
  --exec-arg=oidc-login \\
  --exec-arg=get-token \\
  --exec-arg='--oidc-issuer-url={issuer}' \\
  --exec-arg='--oidc-client-id={client_id}' \\
  --exec-arg=--oidc-pkce-method=S256 \\
  --exec-arg=--oidc-extra-scope=profile \\
  --exec-arg=--oidc-extra-scope=email \\
  --exec-arg=--oidc-extra-scope=groups
kubectl config set-context --current --user=castellan`,
    },
  ],
};
