import { type IdentityApi, startIdentityApi } from '../../../src/apiserver/testing/identity-api.ts'
import { fixedCredential } from '../../../src/client/connection/credential/credential.ts'
import { type ApiClient, createApiClient } from '../../../src/client/http/api-client.ts'
import { certificates } from '../../../src/client/testing/test-certificates.ts'
import { systemClock } from '../../../src/lib/clock.ts'

const GROUP = 'rbac.authorization.k8s.io'
const ROLES = `/apis/${GROUP}/v1/clusterroles`
const BINDINGS = `/apis/${GROUP}/v1/clusterrolebindings`

/** An API server with users: `reader` may read the node `n1`, `elsewhere` the node `n2`, `outsider` none. */
export interface Cluster {
  readonly api: IdentityApi
  /** With the credentials of node-proxy, which may delegate reviews. */
  readonly client: ApiClient
  /** Paths of the reviews that the client posted. */
  readonly posted: string[]
  /** The HTTPS URL; its certificate is of the authority of tests. */
  readonly url: string
}

export async function startCluster(): Promise<Cluster> {
  const names = ['node-proxy', 'reader', 'elsewhere', 'outsider']
  const api = await startIdentityApi(names.map((name) => ({ name })))
  await grant(api, 'node-proxy', [
    { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
    { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
  ])
  const objects = { apiGroups: [''], resources: ['nodes', 'pods'], verbs: ['get', 'list'] }
  await grant(api, 'reader', [nodeRule('n1'), objects])
  await grant(api, 'elsewhere', [nodeRule('n2')])
  const secure = await api.server.listen({ tls: certificates.server })
  const client = createApiClient({
    connection: {
      origin: secure.url,
      basePath: '',
      tls: {
        material: async () => ({ ca: certificates.ca, cert: undefined, key: undefined }),
        serverName: undefined,
        insecureSkipVerify: false,
      },
      credentials: fixedCredential({ authorization: 'Bearer node-proxy' }),
      source: 'a test',
    },
    clock: systemClock,
    userAgent: 'test',
  })
  const posted: string[] = []
  const create: ApiClient['create'] = (path, ...more) => {
    posted.push(path)
    return client.create(path, ...more)
  }
  return { api, client: { ...client, create }, posted, url: secure.url }
}

function nodeRule(name: string) {
  return { apiGroups: [''], resources: ['nodes/proxy'], resourceNames: [name], verbs: ['get'] }
}

/** Grants a user a role with the user's name. */
async function grant(api: IdentityApi, name: string, rules: readonly object[]): Promise<void> {
  await api.make(ROLES, { metadata: { name }, rules: rules.map((rule) => ({ ...rule })) })
  await api.make(BINDINGS, {
    metadata: { name },
    roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name },
    subjects: [{ apiGroup: GROUP, kind: 'User', name }],
  })
}
