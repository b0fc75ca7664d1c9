import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { audited } from '../audit/testing/audited.ts'
import { startIdentityApi } from '../testing/identity-api.ts'

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const SECRETS = '/api/v1/namespaces/default/secrets'
const OTHERS = '/api/v1/namespaces/kube-system/secrets'
const EVERYTHING = '[{ level: Metadata, omitStages: [RequestReceived] }]'

/** The head of a request by ann, who may do little; the lines `more` follow its token. */
function asAnn(line: string, ...more: readonly string[]): string {
  return head(line, 'Authorization: Bearer ann', ...more)
}

function head(line: string, ...more: readonly string[]): string {
  return [`${line} HTTP/1.1`, 'Host: x', 'Connection: close', ...more, '', ''].join('\r\n')
}

/** A server on which ann may read Pods, Leases and the Secrets called `own`; and its audit events. */
async function startAudited() {
  const audit = audited(EVERYTHING)
  const api = await startIdentityApi([{ name: 'ann' }], { audit: audit.log })
  const read = ['get', 'list', 'watch']
  await api.make(`${RBAC}/clusterroles`, {
    metadata: { name: 'reader' },
    rules: [
      { verbs: read, apiGroups: [''], resources: ['pods'] },
      { verbs: read, apiGroups: ['coordination.orch.io'], resources: ['leases'] },
      {
        verbs: [...read, 'deletecollection', 'create'],
        apiGroups: [''],
        resources: ['secrets'],
        resourceNames: ['own'],
      },
      { verbs: ['get'], nonResourceURLs: ['/metrics/*'] },
    ],
  })
  const apiGroup = 'rbac.authorization.k8s.io'
  await api.make(`${RBAC}/clusterrolebindings`, {
    metadata: { name: 'readers' },
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'reader' },
    subjects: [{ apiGroup, kind: 'User', name: 'ann' }],
  })
  const pods = '/api/v1/namespaces/default/pods'
  await expect.poll(async () => (await api.as('ann', 'GET', pods)).status).toBe(200)
  return { api, audit }
}

/** Sends bytes and returns all that the server sends until the connection ends. */
async function raw(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.write(text)
  await once(socket, 'close')
  return Buffer.concat(chunks).toString()
}

function statusOf(answer: string): number {
  return Number(answer.split(' ')[1])
}

type Trick = readonly [status: number, request: string]

const paths: readonly Trick[] = [
  '/api/v1/namespaces/default%2f..%2fkube-system/secrets',
  '/api/v1/namespaces/default/../kube-system/secrets',
  '/api/v1/namespaces/default/pods/..%2fsecrets',
  '/api/v1/namespaces/default/pods/%2e%2e/secrets',
  '/api/v1/namespaces/default/%2E/secrets',
  '//api/v1/secrets',
  '/api//v1/secrets',
  '/api/v1/namespaces//secrets',
  '/api/v1/secrets//',
  '/api/v1/secrets%00',
  '/api/v1/secrets%0d%0aX:1',
  '/api/v1/pods;/../secrets',
  '/api/v1/secrets%3bx',
  '/api/v1\\secrets',
  '/api/v1/secrets%5c',
  '/healthz/..%2fmetrics',
  '/healthz/%2e%2e/metrics',
  '/healthz%2f..%2fmetrics',
  '/api/v1/%c0%ae%c0%ae/secrets',
  '/api/v1/secrets%',
  'http://127.0.0.1/api/v1/secrets',
  'https://kubernetes/healthz',
].map((path) => [400, asAnn(`GET ${path}`)])

const reads: readonly Trick[] = [
  SECRETS,
  `${SECRETS}/`,
  '/api/v1/%73ecrets',
  '/%61pi/v1/secrets',
  `${SECRETS}/other`,
  `${SECRETS}/%6Ftherown`,
  `${SECRETS}/OWN`,
  `${SECRETS}?watch=1`,
  `${SECRETS}?watch=true&fieldSelector=metadata.name%3Dother`,
  `${SECRETS}?fieldSelector=metadata.name%21%3Down`,
  `${SECRETS}?fieldSelector=metadata.name%3Down2`,
  `${SECRETS}?fieldSelector=metadata.name%3Dother%2Cmetadata.name%3Down`,
  `${SECRETS}?fieldSelector=metadata.name%3Dother&fieldSelector=metadata.name%3Down`,
  `${SECRETS}?fieldselector=metadata.name%3Down`,
  `${SECRETS}?fieldSelector=metadata.namespace%3Down`,
  `${SECRETS}?fieldSelector=metadata.name%3D`,
  `${SECRETS}?labelSelector=metadata.name%3Down`,
  `${SECRETS}?name=own`,
  `/api/v1/watch/namespaces/default/secrets`,
  `/api/v1/watch/namespaces/default/secrets/other`,
  `/api/v1/watch/namespaces/default/secrets/other?fieldSelector=metadata.name%3Down`,
  OTHERS,
  `${SECRETS}?access_token=root`,
  `${SECRETS}?namespace=default&as=root`,
  '/api/v1/namespaces/default/pods/x/status',
  '/apis/networking.orch.io/v1/namespaces/default/networkpolicies',
  `${RBAC.replace('k8s.io', 'orch.io')}/clusterroles`,
  `${RBAC}/clusterrolebindings`,
  '/api/v1/namespaces/default/pods/x/environment',
  '/metrics',
  '/metrics/',
  '/METRICS/x',
  '/.well-known/openid-configuration',
  '/openid/v1/jwks',
  '/logs/',
  '/debug/pprof/',
].map((path) => [403, asAnn(`GET ${path}`)])

const methods: readonly Trick[] = [
  [403, asAnn(`HEAD ${SECRETS}/own`)],
  [403, asAnn(`OPTIONS ${SECRETS}`)],
  [403, asAnn(`TRACE ${SECRETS}/own`)],
  [403, asAnn(`PROPFIND ${SECRETS}/own`)],
  [403, asAnn(`POST ${SECRETS}`)],
  [403, asAnn(`POST ${SECRETS}?fieldSelector=metadata.name%3Down`)],
  [403, asAnn(`DELETE ${SECRETS}`)],
  [403, asAnn(`DELETE ${SECRETS}?fieldSelector=metadata.name%3Down`)],
  [403, asAnn(`DELETE ${SECRETS}/own`)],
  [403, asAnn(`POST ${SECRETS}`, 'X-HTTP-Method-Override: GET')],
  [403, asAnn(`POST ${SECRETS}/other?_method=GET`)],
  [
    403,
    asAnn(
      'POST /api/v1/namespaces/default/pods/x/exec',
      'Connection: Upgrade',
      'Upgrade: SPDY/3.1',
    ),
  ],
]

const token = Buffer.from('root').toString('base64url')

const headers: readonly Trick[] = [
  [400, asAnn(`GET ${SECRETS}`, 'Authorization: Bearer root')],
  [400, asAnn(`GET ${SECRETS}`, 'AUTHORIZATION: Bearer ann')],
  [400, head(`GET ${SECRETS}`, 'Authorization: Bearer ann, Bearer root')],
  [400, head(`GET ${SECRETS}`, 'Authorization: Bearer')],
  [400, head(`GET ${SECRETS}`, 'Authorization: Basic cm9vdDpyb290')],
  [400, asAnn(`GET ${SECRETS}`, 'Impersonate-Group: system:masters')],
  [400, asAnn(`GET ${SECRETS}`, 'Impersonate-User: ann', 'Impersonate-User: root')],
  [400, asAnn(`GET ${SECRETS}`, 'Impersonate-User:')],
  [400, asAnn(`GET ${SECRETS}`, 'Impersonate-User: root', 'Impersonate-Extra-: x')],
  [400, asAnn(`GET ${SECRETS}`, 'Impersonate-User: root', 'Impersonate-Extra-%zz: x')],
  [
    400,
    asAnn(`GET ${SECRETS}`, 'Impersonate-User: root', 'Impersonate-Uid: 1', 'Impersonate-UID: 2'),
  ],
  [400, asAnn(`GET ${SECRETS}`, 'Impersonate-User: root', 'Impersonate-Userextra: x')],
  [403, asAnn(`GET ${SECRETS}`, 'Impersonate-User: root')],
  [403, asAnn(`GET ${SECRETS}`, 'impersonate-USER: system:admin')],
  [403, asAnn(`GET ${SECRETS}`, 'Impersonate-User: ann', 'Impersonate-Group: system:masters')],
  [403, asAnn(`GET ${SECRETS}`, 'Impersonate-User: ann', 'Impersonate-Extra-%2e: x')],
  [403, asAnn(`GET ${SECRETS}`, 'Impersonate-User: ann', 'Impersonate-Extra-a%2Fb: x')],
  [403, asAnn(`GET ${SECRETS}`, 'Impersonate_User: root')],
  [403, asAnn(`GET ${SECRETS}`, 'X-Remote-User: root', 'X-Remote-Group: system:masters')],
  [403, asAnn(`GET ${SECRETS}`, 'X-Forwarded-User: root', 'X-Original-URL: /healthz')],
  [401, head(`GET ${SECRETS}`, 'X-Remote-User: root', 'X-Remote-Group: system:masters')],
  [401, head(`GET ${SECRETS}`, 'X-Original-URL: /healthz', 'X-Rewrite-URL: /healthz')],
  [401, head(`GET ${SECRETS}`, 'Proxy-Authorization: Bearer root')],
  [401, head(`GET ${SECRETS}`, 'Cookie: token=root')],
  [401, head(`GET ${SECRETS}`, 'Impersonate-User: root')],
  [
    401,
    head(
      `GET ${SECRETS}`,
      'Upgrade: websocket',
      `Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.${token}`,
    ),
  ],
  [401, head(`GET ${SECRETS}?watch=1`, 'Upgrade: h2c')],
  [401, head(`POST ${SECRETS}`, 'Content-Length: 1000000')],
]

test.each([
  ['paths', paths],
  ['reads', reads],
  ['methods', methods],
  ['headers', headers],
])('%s: every trick is refused, and audited with its answer', async (_what, tricks) => {
  const { api, audit } = await startAudited()
  const before = audit.events().length
  const wrong: string[] = []
  for (const [expected, request] of tricks) {
    const answer = await raw(api.port, request)
    const id = /^audit-id: (\S+)/imu.exec(answer)?.[1]
    const found = () => audit.events().find((one) => one['auditID'] === id)
    await expect.poll(found, { message: `${request}${answer}` }).toBeDefined()
    const event = JSON.stringify(found())
    const isForbidden = event.includes('"authorization.k8s.io/decision":"forbid"')
    const isAnswered = event.includes(`"code":${expected}`)
    if (statusOf(answer) !== expected || !isAnswered || isForbidden !== (expected === 403)) {
      wrong.push(`${request.trim()}\n→ ${answer.slice(0, 12)} ${event}`)
    }
  }
  expect(wrong).toEqual([])
  expect(audit.events().length - before).toBe(tricks.length)
})

test('what is not refused: the same requests without a trick', async () => {
  const { api } = await startAudited()
  const permitted = [
    `GET ${SECRETS}?fieldSelector=metadata.name%3Down`,
    'GET /apis/coordination.k8s.io/v1/namespaces/default/leases',
    'GET /apis/coordination.orch.io/v1/namespaces/default/leases/',
    'GET /api/v1/namespaces/default/p%6Fds',
  ]
  for (const line of permitted) {
    expect([line, statusOf(await raw(api.port, asAnn(line)))]).toEqual([line, 200])
  }
  expect(statusOf(await raw(api.port, asAnn(`GET ${SECRETS}/own`)))).toBe(404)
})

test('who is not authenticated gets the same answer to every request', async () => {
  const { api } = await startAudited()
  const lines = [
    `GET ${SECRETS}`,
    `GET ${SECRETS}/missing`,
    'GET /api/v1/namespaces/missing/secrets',
    'GET /nope',
    'POST /nope',
    `DELETE ${SECRETS}`,
    'GET /api/v1/pods?limit=x',
    'PATCH /metrics',
  ]
  const answers = new Set<string>()
  for (const authorization of [[], ['Authorization: Bearer x'], ['Authorization: Bearer a.b.c']]) {
    for (const line of lines) {
      const answer = await raw(api.port, head(line, ...authorization))
      answers.add(answer.replace(/^(?:audit-id|date): .*\r\n/gimu, ''))
    }
  }
  expect([...answers]).toEqual([expect.stringMatching(/^HTTP\/1\.1 401 /u)])
})

test('each request of a connection is its own sender’s', async () => {
  const { api } = await startAudited()
  const one = (user: string | undefined, last = false): string => {
    const credentials = user === undefined ? '' : `Authorization: Bearer ${user}\r\n`
    const end = last ? 'Connection: close\r\n' : ''
    return `GET ${SECRETS} HTTP/1.1\r\nHost: x\r\n${credentials}${end}\r\n`
  }
  const users = ['root', 'ann', undefined, 'root', undefined, 'ann']
  const pipelined = users.map((user, index) => one(user, index === users.length - 1)).join('')
  const answers = (await raw(api.port, pipelined)).match(/HTTP\/1\.1 \d+/gu)
  expect(answers).toEqual([200, 403, 401, 200, 401, 403].map((code) => `HTTP/1.1 ${code}`))
})
