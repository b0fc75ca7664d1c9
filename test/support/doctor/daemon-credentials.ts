import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { stringAt } from '../../../src/lib/json.ts'
import { readAuthority } from '../../../src/orchserver/certificates/authority.ts'
import { issueClient } from '../../../src/orchserver/certificates/issue.ts'
import { newKey } from '../../../src/orchserver/certificates/pem.ts'
import type { Credential } from '../agent/protocol.ts'
import { type FileCredential, kubeconfigText } from '../lab/kubeconfig.ts'
import type { Lab } from '../lab/lab.ts'
import { tokenOfManifest } from '../lab/manifest-account.ts'
import { signedToken } from './signed-token.ts'

const HOUR = 3_600_000
const MANIFEST = new URL('../../../config/kubernetes/node-proxy/rbac.yaml', import.meta.url)
const ACCOUNT = '/api/v1/namespaces/kube-system/serviceaccounts/node-proxy'

/** Credentials of the node-proxy of a lab whose server is orch-server. */
export interface DaemonCredentials {
  /** A client certificate of its authority with a validity of an hour that ends in `life` milliseconds. */
  certificate(life: number): Promise<Credential>
  /** A token of the account node-proxy with a validity of an hour that ends in `life` milliseconds. */
  token(life: number): Promise<string>
  /** A token that the server issues on request, valid for ten minutes. */
  requestedToken(audiences: readonly string[]): Promise<string>
  /** Lets the account request tokens for itself. */
  permitRenewal(): Promise<void>
  /** A kubeconfig with this credential, or with a file of it, for `--kubeconfig`. */
  kubeconfig(credential: Credential | FileCredential): string
}

export async function daemonCredentials(lab: Lab): Promise<DaemonCredentials> {
  const folder = dirname(lab.daemon.configFile)
  const pki = join(folder, 'orch-server/pki')
  await tokenOfManifest(lab.api, { file: MANIFEST, account: 'node-proxy' })
  const account = JSON.parse((await lab.api.request('GET', ACCOUNT)).body)
  const claims = {
    namespace: 'kube-system',
    account: { name: 'node-proxy', uid: stringAt(account, 'metadata', 'uid') },
  }
  return {
    async certificate(life) {
      const key = newKey()
      const issuer = await readAuthority(pki)
      const request = { issuer, key, user: 'system:kube-proxy', groups: [], life: HOUR }
      return { key, cert: await issueClient(request, Date.now() + life - HOUR) }
    },
    token: (life) => {
      const key = readFileSync(join(pki, 'sa.key'), 'utf8')
      return signedToken({ key, claims, aheadMs: life - HOUR })
    },
    async requestedToken(audiences) {
      const { status, body } = await lab.api.request('POST', `${ACCOUNT}/token`, {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { audiences, expirationSeconds: 600 },
      })
      if (status !== 201) throw new Error(`TokenRequest: ${status} ${body}`)
      return stringAt(JSON.parse(body), 'status', 'token')
    },
    async permitRenewal() {
      const group = 'rbac.authorization.k8s.io'
      const at = `/apis/${group}/v1/namespaces/kube-system`
      const metadata = { name: 'node-proxy:renew-token' }
      const [resources, resourceNames] = [['serviceaccounts/token'], ['node-proxy']]
      const rules = [{ apiGroups: [''], resources, resourceNames, verbs: ['create'] }]
      const roleRef = { apiGroup: group, kind: 'Role', name: metadata.name }
      const subjects = [{ kind: 'ServiceAccount', name: 'node-proxy', namespace: 'kube-system' }]
      const made = [
        await lab.api.request('POST', `${at}/roles`, { metadata, rules }),
        await lab.api.request('POST', `${at}/rolebindings`, { metadata, roleRef, subjects }),
      ]
      for (const { status, body } of made) if (status !== 201) throw new Error(`${status} ${body}`)
    },
    kubeconfig(credential) {
      const file = join(folder, 'short.kubeconfig')
      const { url } = lab.apiServer
      writeFileSync(file, kubeconfigText({ url, ca: lab.apiServer.ca(), credential }))
      return file
    },
  }
}
