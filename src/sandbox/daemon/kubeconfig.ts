import { stringify } from 'yaml'

/** The file that tells the daemon where the API server is; plain HTTP, so nobody is to log in. */
export function kubeconfig(server: string): string {
  const name = 'sandbox'
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server } }],
    users: [{ name, user: {} }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  })
}
