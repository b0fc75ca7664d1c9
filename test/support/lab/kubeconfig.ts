import { stringify } from 'yaml'
import type { Credential } from '../agent/protocol.ts'

export interface KubeconfigParts {
  readonly url: string
  /** PEM of the server's authority, if it has one. */
  readonly ca?: string | undefined
  /** Absent: the server has no users. */
  readonly credential?: Credential | undefined
}

/** A credential whose token is read from a file. */
export interface FileCredential {
  readonly tokenFile: string
}

type Parts = Omit<KubeconfigParts, 'credential'> & {
  readonly credential?: Credential | FileCredential | undefined
}

export function kubeconfigText({ url, ca, credential }: Parts): string {
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

function userOf(credential: Credential | FileCredential): object {
  if (!('cert' in credential)) return credential
  return {
    ...('token' in credential && { token: credential.token }),
    'client-certificate-data': btoa(credential.cert),
    'client-key-data': btoa(credential.key),
  }
}
