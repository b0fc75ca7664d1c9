import {
  arrayAt,
  type Json,
  type JsonObject,
  scalarText,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import type { ClusterEvidence } from '../evidence/cluster-evidence.ts'

/** A probe that keeps a container from being ready. */
export interface FailingProbe {
  /** `readiness probe of container main (GET :8080/healthz)` */
  readonly text: string
  /** Its last output, as the node reported it; empty: there is no Event of it. */
  readonly output: string
}

/**
 * Which probe of a Pod fails: of a container that has not started its startup probe; of one that runs and is not ready its
 * readiness probe; of one that is started again and again its liveness probe, if the node reported that it failed.
 */
export function failingProbe(pod: JsonObject, evidence: ClusterEvidence): FailingProbe | undefined {
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
