import { stringify } from 'yaml'
import type { Credential } from '../agent/protocol.ts'

export interface KubeconfigParts {
  readonly url: string
  /** PEM of the server's authority, where it has one. */
  readonly ca?: string | undefined
  /** None: the server knows no users. */
  readonly credential?: Credential | undefined
}

export function kubeconfigText({ url, ca, credential }: KubeconfigParts): string {
  const trust = ca === undefined ? {} : { 'certificate-authority-data': btoa(ca) }
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'lab', cluster: { server: url, ...trust } }],
    users: [{ name: 'lab', user: credential === undefined ? {} : userOf(credential) }],
    contexts: [{ name: 'lab', context: { cluster: 'lab', user: 'lab' } }],
    'current-context': 'lab',
  })
}

function userOf(credential: Credential): object {
  if ('token' in credential) return credential
  return {
    'client-certificate-data': btoa(credential.cert),
    'client-key-data': btoa(credential.key),
  }
}
