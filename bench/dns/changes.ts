import { setTimeout as delay } from 'node:timers/promises'
import { request } from 'undici'
import { SERVICES_PATH, SLICES_PATH } from '../cluster/objects.ts'
import type { Changes } from '../report/dns/results.ts'
import type { Repeats } from './repeats.ts'
import type { Resolver } from './resolver.ts'

const NAME = 'changing'
const TIMEOUT_MS = 5_000
/** The pause between two changes, so that none waits for the one before. */
const PAUSE_MS = 20

/**
 * Replaces an endpoint of a headless Service, and measures the time until the first DNS answer has the new one: from
 * sending the write to the API server, and from the server's answer.
 */
export async function measureChanges(
  { changes }: Repeats,
  url: string,
  resolver: Resolver,
): Promise<Changes> {
  await send(url, 'POST', SERVICES_PATH, service())
  await send(url, 'POST', SLICES_PATH, slice(0))
  const name = `${NAME}.default.svc.cluster.local`
  await untilAnswered(resolver, name, address(0))
  const fromWrite: number[] = []
  const fromAnswer: number[] = []
  for (let serial = 1; serial <= changes; serial += 1) {
    await delay(PAUSE_MS)
    const began = performance.now()
    const write = send(url, 'PUT', `${SLICES_PATH}/${NAME}`, slice(serial))
    const answered = write.then(() => performance.now())
    await untilAnswered(resolver, name, address(serial))
    const known = performance.now()
    fromWrite.push(known - began)
    fromAnswer.push(Math.max(0, known - (await answered)))
  }
  return { fromWrite, fromAnswer }
}

async function untilAnswered(resolver: Resolver, name: string, wanted: string): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS
  while (!(await resolver.addresses(name)).includes(wanted)) {
    if (performance.now() > deadline) throw new Error(`${name} never became ${wanted}`)
  }
}

function address(serial: number): string {
  return `10.200.${serial >> 8}.${serial & 0xff}`
}

function service(): object {
  const spec = { clusterIP: 'None', ports: [{ name: 'http', port: 80 }] }
  return { apiVersion: 'v1', kind: 'Service', metadata: { name: NAME }, spec }
}

function slice(serial: number): object {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: NAME, labels: { 'kubernetes.io/service-name': NAME } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
    endpoints: [{ addresses: [address(serial)], conditions: { ready: true } }],
  }
}

async function send(
  url: string,
  method: 'POST' | 'PUT',
  path: string,
  object: object,
): Promise<void> {
  const { statusCode, body } = await request(url + path, {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(object),
  })
  const text = await body.text()
  if (statusCode >= 300) throw new Error(`${method} ${path}: ${statusCode} ${text}`)
}
