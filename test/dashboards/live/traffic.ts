import { setTimeout as pause } from 'node:timers/promises'
import { failureError } from '../../../src/client/http/failure.ts'
import { NODE_IP } from '../../../src/sandbox/network/topology.ts'
import { EDGE_DOMAIN, type ObservedSandbox, SECOND_NODE_IP } from './observed-sandbox.ts'

/** Between two turns of the traffic. */
const PACE_MS = 200
const REQUEST_MS = 2_000
const TURNS_OF_A_SERVICE = 5
const SERVICES = '/api/v1/namespaces/default/services'

/** Services of examples/services by their node ports: one of many Pods, one with session affinity, one without a Pod. */
const NODE_PORTS = [30080, 30084, 30085]

/**
 * What fills the dashboards beside the requests of the sandbox itself, again and again until `signal` is aborted: Services
 * that come and go, requests that fail, connections through the second node, names that exist, do not exist, are forwarded or
 * refused. Once, the rules of the sandbox's node are deleted. Rejects when any of it cannot be done.
 */
export async function makeTraffic(sandbox: ObservedSandbox, signal: AbortSignal): Promise<void> {
  await sandbox.node.exec(['nft', 'delete', 'table', 'ip', 'node-proxy'])
  for (let turn = 0; !signal.aborted; turn += 1) {
    await Promise.all([
      changeServices(sandbox, turn),
      requestWhatIsMissing(sandbox),
      connectThroughSecondNode(sandbox),
      resolveNames(sandbox),
    ])
    await pause(PACE_MS, undefined, { signal }).catch(() => undefined)
  }
}

/** Creates a Service of the Pods, and deletes the one of some turns ago: their endpoints are changes with a time. */
async function changeServices({ api }: ObservedSandbox, turn: number): Promise<void> {
  const metadata = { name: `fleeting-${turn}` }
  const spec = { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] }
  const made = await api.create(SERVICES, { apiVersion: 'v1', kind: 'Service', metadata, spec })
  if (!made.ok) throw failureError(made.failure, metadata.name)
  if (turn < TURNS_OF_A_SERVICE) return
  const name = `fleeting-${turn - TURNS_OF_A_SERVICE}`
  const removed = await api.remove(`${SERVICES}/${name}`, {})
  if (!removed.ok) throw failureError(removed.failure, name)
}

async function requestWhatIsMissing({ api }: ObservedSandbox): Promise<void> {
  const { ok } = await api.get(`${SERVICES}/no-such-service`)
  if (ok) throw new Error('no-such-service exists')
}

async function connectThroughSecondNode({ clientAgent }: ObservedSandbox): Promise<void> {
  const answers = await Promise.all(
    NODE_PORTS.map((port) =>
      clientAgent.send({ url: `http://${SECOND_NODE_IP}:${port}/`, timeoutMs: REQUEST_MS }),
    ),
  )
  const kinds = answers.map(({ kind }) => kind)
  if (kinds.join() !== 'answered,answered,refused') {
    throw new Error(`through the second node: ${JSON.stringify(answers)}`)
  }
}

async function resolveNames({ client, control }: ObservedSandbox): Promise<void> {
  const own = ['web.default.svc.cluster.local', 'no-such-name.default.svc.cluster.local']
  const others = [`web.default.svc.${EDGE_DOMAIN}`, ...own, 'www.example.org']
  const dig = ['dig', '+time=2', '+tries=1']
  await Promise.all([
    client.exec([...dig, `@${NODE_IP}`, ...own, 'www.example.org']),
    client.exec([...dig, '+tcp', `@${SECOND_NODE_IP}`, ...others]),
    // Of a network that this server does not answer.
    control.exec([...dig, `@${SECOND_NODE_IP}`, ...own]),
  ])
}
