import {
  arrayAt,
  type Json,
  type JsonObject,
  objectAt,
  scalarText,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import type { ClusterEvidence } from '../evidence/cluster-evidence.ts'
import { type Check, type Finding, SHOWN } from '../evidence/finding.ts'
import { conditionOf, isReady, keyOf, nameOf, namespaceOf } from '../evidence/objects.ts'

/** A Service with no ready Pod: it has no ready endpoint, so connections are refused or time out. */
export const podsNotReady: Check = {
  name: 'pods-not-ready',
  find: (evidence) => {
    if (!evidence.has('services', 'pods')) return []
    return evidence.all('services').flatMap((service) => findingOf(service, evidence))
  },
}

function findingOf(service: JsonObject, evidence: ClusterEvidence): readonly Finding[] {
  if (valueAt(service, 'spec', 'publishNotReadyAddresses') === true) return []
  const namespace = namespaceOf(service)
  const pods = evidence.podsOf(service)
  if (pods.length === 0 || pods.some(isReady)) return []
  // The check image-pull reports images that cannot be pulled.
  if (pods.every((pod) => waitingContainers(pod).some(waitsForImage))) return []
  const [first] = pods
  const probe = failingProbe(first!, evidence)
  return [
    {
      check: podsNotReady.name,
      symptom: 'Connection timeout',
      object: `pod/${keyOf(first!)}`,
      affects: [`service/${keyOf(service)}`, ...pods.slice(1).map((pod) => `pod/${keyOf(pod)}`)],
      cause: `none of the ${pods.length} Pods of service/${nameOf(service)} is ready${probe === undefined ? '' : `: the ${probe.text} fails`}`,
      evidence: pods.slice(0, SHOWN).map((pod) => `pod/${nameOf(pod)}: ${stateOf(pod, evidence)}`),
      remedy: 'repair what keeps the Pods from being ready, or correct the readiness probe',
      commands: [
        `orchctl -n ${namespace} describe pod ${nameOf(first!)}`,
        `orchctl -n ${namespace} logs ${nameOf(first!)}`,
      ],
    },
  ]
}

/** Whether a container waits for its image. */
export function waitsForImage({ reason }: WaitingContainer): boolean {
  return PULL_REASONS.has(reason)
}

const PULL_REASONS: ReadonlySet<string> = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
])

/** A container that waits, and why, in the words of its node: `CrashLoopBackOff`. */
interface WaitingContainer {
  readonly name: string
  readonly reason: string
}

/** The containers of a Pod that wait, those of `initContainers` first. */
export function waitingContainers(pod: JsonObject): readonly WaitingContainer[] {
  return containerStatuses(pod).flatMap((status) => {
    const reason = stringAt(status, 'state', 'waiting', 'reason')
    return reason === '' ? [] : [{ name: stringAt(status, 'name'), reason }]
  })
}

function containerStatuses(pod: JsonObject): readonly JsonObject[] {
  return ['initContainerStatuses', 'containerStatuses'].flatMap((list) =>
    arrayAt(pod, 'status', list).map((status) => objectAt(status)),
  )
}

/** `not ready since 10:00 (ContainersNotReady); Readiness probe failed: connection refused`. */
function stateOf(pod: JsonObject, evidence: ClusterEvidence): string {
  const ready = conditionOf(pod, 'Ready')
  const since = stringAt(ready, 'lastTransitionTime')
  const scheduled = conditionOf(pod, 'PodScheduled')
  const isWaiting = stringAt(pod, 'spec', 'nodeName') === ''
  const output = failingProbe(pod, evidence)?.output || evidence.messagesAbout(pod, 'Unhealthy')[0]
  const parts = [
    isWaiting ? `waits for a node: ${stringAt(scheduled, 'message') || 'none was chosen yet'}` : '',
    `not ready${since === '' ? '' : ` since ${since}`}`,
    ...waitingContainers(pod).map(({ reason }) => `a container waits: ${reason}`),
    ...endings(pod),
    output ?? '',
  ]
  return parts.filter((part) => part !== '').join('; ')
}

/** How containers ended that are started again and again. */
function endings(pod: JsonObject): readonly string[] {
  return containerStatuses(pod).flatMap((status) => {
    const last = objectAt(status, 'lastState', 'terminated')
    const code = scalarText(valueAt(last, 'exitCode'))
    const restarts = scalarText(valueAt(status, 'restartCount'))
    if (code === '' || restarts === '0') return []
    const reason = stringAt(last, 'reason')
    return [
      `container ${stringAt(status, 'name')} ended ${restarts} times, at last with ${code} (${reason})`,
    ]
  })
}

/** A probe that keeps a container from being ready. */
interface FailingProbe {
  /** `readiness probe of container main (GET :8080/healthz)` */
  readonly text: string
  /** Its last output, as the node reported it; empty: there is no Event of it. */
  readonly output: string
}

/**
 * The probe of a Pod that fails: the startup probe of a container that has not started; the readiness probe of one that
 * runs and is not ready; the liveness probe of one that is restarted again and again, if the node reported the failure.
 */
function failingProbe(pod: JsonObject, evidence: ClusterEvidence): FailingProbe | undefined {
  const messages = evidence.messagesAbout(pod, 'Unhealthy')
  for (const status of arrayAt(pod, 'status', 'containerStatuses')) {
    const name = stringAt(status, 'name')
    const container = arrayAt(pod, 'spec', 'containers').find(
      (one) => stringAt(one, 'name') === name,
    )
    const found = probeOf(container, status, messages)
    if (found === undefined) continue
    const [kind, probe] = found
    const output = messages.find((one) => isAbout(one, kind)) ?? ''
    return { text: `${kind} probe of container ${name} (${actionText(probe)})`, output }
  }
  return undefined
}

type ProbeKind = 'startup' | 'readiness' | 'liveness'

function probeOf(
  container: Json | undefined,
  status: Json,
  messages: readonly string[],
): readonly [ProbeKind, Json] | undefined {
  const probe = (kind: ProbeKind): Json | undefined => valueAt(container, `${kind}Probe`)
  const [startup, readiness, liveness] = [probe('startup'), probe('readiness'), probe('liveness')]
  const isRunning = valueAt(status, 'state', 'running') !== undefined
  if (startup !== undefined && valueAt(status, 'started') === false && isRunning) {
    return ['startup', startup]
  }
  const isLivenessLast = messages[0] !== undefined && isAbout(messages[0], 'liveness')
  const isRestarted = Number(valueAt(status, 'restartCount')) > 0
  if (liveness !== undefined && isRestarted && isLivenessLast) return ['liveness', liveness]
  const isUnready = isRunning && valueAt(status, 'ready') === false
  return readiness !== undefined && isUnready ? ['readiness', readiness] : undefined
}

function isAbout(message: string, kind: ProbeKind): boolean {
  return message.toLowerCase().startsWith(`${kind} probe`)
}

function actionText(probe: Json): string {
  const port = (action: string): string => scalarText(valueAt(probe, action, 'port'))
  if (valueAt(probe, 'httpGet') !== undefined) {
    return `GET :${port('httpGet')}${stringAt(probe, 'httpGet', 'path') || '/'}`
  }
  if (valueAt(probe, 'tcpSocket') !== undefined) return `TCP port ${port('tcpSocket')}`
  if (valueAt(probe, 'grpc') !== undefined) return `gRPC port ${port('grpc')}`
  return `command ${arrayAt(probe, 'exec', 'command').map(scalarText).join(' ')}`
}
