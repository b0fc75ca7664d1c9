import { expect, test } from 'vitest'
import { arrayAt, type JsonObject, objectAt } from '../lib/json.ts'
import {
  createCertificatesController,
  KUBELET_SIGNERS,
  type RequestAuthority,
} from './certificates-controller.ts'
import { clusterWith } from './testing/cluster-with.ts'
import { reconcile } from './testing/reconcile.ts'

const AGENT = { username: 'system:node:n1', groups: ['system:nodes'] }
const SPEC = { request: 'cmVxdWVzdA==', usages: ['client auth'], ...AGENT }

/** Approves requests with an address, and signs those without `cert sign`. */
function fakeAuthority() {
  const judged: (readonly string[])[] = []
  const authority: RequestAuthority = {
    approve: async ({ user }, addresses) => {
      judged.push(addresses)
      return addresses.length > 0 ? `it is ${user.name}` : undefined
    },
    sign: async ({ usages, request }) =>
      usages.includes('cert sign')
        ? { problem: 'no authorities' }
        : { certificate: `for ${request}` },
  }
  return { judged, authority }
}

function request(spec: JsonObject = {}, status: JsonObject = {}): JsonObject {
  const whole = { ...SPEC, signerName: KUBELET_SIGNERS.serving, ...spec }
  return { metadata: { name: 'r', uid: 'u' }, spec: whole, status }
}

function node(name: string, ...addresses: readonly string[]): JsonObject {
  const listed = addresses.map((address) => ({ type: 'InternalIP', address }))
  const hostname = { type: 'Hostname', address: name }
  return { metadata: { name }, status: { addresses: [hostname, ...listed] } }
}

function scene(object: JsonObject, ...nodes: readonly JsonObject[]) {
  const { judged, authority } = fakeAuthority()
  const controller = createCertificatesController(authority)
  const cluster = clusterWith(
    ['certificatesigningrequests', object],
    ...nodes.map((one) => ['nodes', one] as const),
  )
  const run = () => reconcile(cluster, { controller, key: 'r', now: Date.UTC(2030, 0, 1) })
  const status = () => objectAt(cluster.get('certificatesigningrequests', 'r'), 'status')
  return { controller, cluster, judged, run, status }
}

const APPROVED = { conditions: [{ type: 'Approved', status: 'True' }] }

test('a request is approved, then signed, and then left alone', async () => {
  const { run, status } = scene(request(), node('n1', '192.0.2.7'))
  expect(await run()).toEqual(['patch certificatesigningrequests/r'])
  const at = '2030-01-01T00:00:00Z'
  const approved = { type: 'Approved', status: 'True', reason: 'AutoApproved' }
  const dates = { lastUpdateTime: at, lastTransitionTime: at }
  expect(status()).toEqual({
    conditions: [{ ...approved, message: 'it is system:node:n1', ...dates }],
  })
  expect(await run()).toEqual(['patch certificatesigningrequests/r'])
  const certificate = Buffer.from(`for ${SPEC.request}`).toString('base64')
  expect(status()).toMatchObject({ certificate })
  expect(await run()).toEqual([])
})

test('what is not approved stays as it is, and is looked at again', async () => {
  const { run, status, controller, cluster } = scene(request())
  await run()
  expect(status()).toEqual({})
  expect(controller.reconcile('r', cluster.view, 0, 0).againMs).toBe(60_000)
})

test('what cannot be signed is marked, whoever approved it', async () => {
  const { run, status } = scene(request({ usages: ['cert sign'] }, APPROVED))
  await run()
  const [, failed] = arrayAt(status(), 'conditions')
  expect(failed).toMatchObject({ type: 'Failed', status: 'True', message: 'no authorities' })
  expect(await run()).toEqual([])
})

test.each<[string, JsonObject]>([
  ['of another signer', request({ signerName: 'kubernetes.io/kube-apiserver-client' }, APPROVED)],
  ['that is denied', request({}, { conditions: [{ type: 'Denied', status: 'True' }] })],
  ['that failed', request({}, { conditions: [{ type: 'Failed', status: 'True' }] })],
  ['that is issued', request({}, { ...APPROVED, certificate: 'eA==' })],
])('a request %s is left alone', async (_, object) => {
  expect(await scene(object, node('n1', '192.0.2.7')).run()).toEqual([])
})

test('a node has only addresses that no other node and no server has', async () => {
  const mine = node('n1', '192.0.2.7', '192.0.2.8', '192.0.2.1')
  const { run, judged, cluster } = scene(request(), mine, node('n2', '192.0.2.8'))
  const subsets = [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 6443 }] }]
  cluster.put('endpoints', { metadata: { name: 'kubernetes', namespace: 'default' }, subsets })
  await run()
  expect(judged).toEqual([['192.0.2.7']])
})

test('who is no node has no addresses', async () => {
  const { run, judged } = scene(request({ groups: [] }), node('n1', '192.0.2.7'))
  await run()
  expect(judged).toEqual([[]])
})

test('a Node whose addresses change makes its undecided requests dirty', () => {
  const { controller, cluster } = scene(request(), node('n1', '192.0.2.7'))
  const before = cluster.view.nodes.get('n1')!
  const changed = { ...before, addresses: ['192.0.2.9'] }
  const dirty = (key: string, after: typeof before) => [
    ...controller.watches.nodes!({ key, before, after }, cluster.view),
  ]
  expect(dirty('n1', changed)).toEqual(['r'])
  expect(dirty('n1', { ...before })).toEqual([])
  expect(dirty('n2', changed)).toEqual([])
})

test('without an authority nothing is decided', () => {
  expect(createCertificatesController(undefined).watches).toEqual({})
})
