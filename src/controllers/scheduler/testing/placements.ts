import type { JsonObject } from '../../../lib/json.ts'
import { type PodParts, rawPod, readyCondition } from '../../testing/fixtures.ts'

interface WorkerParts {
  readonly labels?: JsonObject
  readonly spec?: JsonObject
  readonly cpu?: string
  readonly memory?: string
  readonly pods?: string
  readonly others?: JsonObject
  readonly ready?: JsonObject
}

/** A ready Node of this name, which is also its host name, with 4 processors, 8 GiB and 110 Pods. */
export function worker(name: string, parts: WorkerParts = {}): JsonObject {
  const { labels = {}, spec = {}, cpu = '4', memory = '8Gi', pods = '110', others = {} } = parts
  const { ready = readyCondition(true) } = parts
  return {
    metadata: { name, uid: name, labels: { 'kubernetes.io/hostname': name, ...labels } },
    spec,
    status: { allocatable: { cpu, memory, pods, ...others }, conditions: [ready] },
  }
}

/** The Pod `web-<serial>` without a node, with the label `app: web`. */
export function waitingPod(
  serial: number,
  { metadata = {}, spec = {} }: PodParts = {},
): JsonObject {
  const pod = rawPod(serial, { metadata: { labels: { app: 'web' }, ...metadata } })
  return { ...pod, spec: { containers: [{ name: 'main' }], ...spec }, status: { phase: 'Pending' } }
}

/** Containers with these requests. */
export function requesting(...requests: readonly JsonObject[]): JsonObject {
  return { containers: requests.map((one, i) => ({ name: `c${i}`, resources: { requests: one } })) }
}
