import type { JsonObject } from '../../lib/json.ts'
import { readyCondition } from './fixtures.ts'
import type { ServedApi } from './served-api.ts'

const PODS = '/api/v1/namespaces/default/pods'
const CONTAINERS = [{ name: 'main', image: 'none' }]

export interface WebPod {
  readonly ready?: boolean
  readonly spec?: JsonObject
}

/** Makes the Pod `web-<serial>` at 10.1.0.<serial>, with the label `app: web`. */
export async function makePod(
  api: ServedApi,
  serial: number,
  { ready = true, spec = {} }: WebPod = {},
): Promise<void> {
  const metadata = { name: `web-${serial}`, labels: { app: 'web' } }
  await api.make(PODS, { metadata, spec: { containers: CONTAINERS, ...spec } })
  await setPod(api, serial, ready)
}

/** Sets the readiness of a Pod. */
export async function setPod(api: ServedApi, serial: number, ready: boolean): Promise<void> {
  const ip = `10.1.0.${serial}`
  const status = {
    phase: 'Running',
    podIP: ip,
    podIPs: [{ ip }],
    conditions: [readyCondition(ready)],
  }
  const headers = { 'content-type': 'application/merge-patch+json' }
  await api.call('PATCH', `${PODS}/web-${serial}/status`, { body: { status }, headers })
}
