import { arrayAt, type JsonObject, stringAt, valueAt } from '../../../../../src/lib/json.ts'
import type { PodShop } from './pod-shop.ts'

/** A Pod that really does not become ready, and what the first finding says of it. */
export interface ProbeCause {
  readonly what: string
  readonly container: JsonObject
  /** Resolves when the node has reported it. */
  readonly seen: (shop: PodShop) => Promise<void>
  /** The cause after `none of the 1 Pods of service/web is ready`. */
  readonly cause: string
  readonly evidence: RegExp
}

const SLEEP = ['/bin/sleep', '3600']
const OFTEN = { periodSeconds: 1, failureThreshold: 1 }
const SERVER =
  "require('node:http').createServer((_, answer) => answer.writeHead(500).end()).listen(8080)"

/** By what the probes are, and what becomes of the process. */
export const PROBE_CAUSES: readonly ProbeCause[] = [
  {
    what: 'a readiness probe that gets HTTP 500',
    container: {
      command: [process.execPath, '-e', SERVER],
      readinessProbe: { httpGet: { port: 8080, path: '/healthz' }, ...OFTEN },
    },
    seen: untilEvent('HTTP status 500'),
    cause: ': the readiness probe of container main (GET :8080/healthz) fails',
    evidence: /: not ready since 2.*Z; Readiness probe of main: HTTP status 500$/,
  },
  {
    what: 'a readiness probe whose connection is refused',
    container: { command: SLEEP, readinessProbe: { tcpSocket: { port: 8080 }, ...OFTEN } },
    seen: untilEvent('ECONNREFUSED'),
    cause: ': the readiness probe of container main (TCP port 8080) fails',
    evidence: /: not ready since 2.*Z; Readiness probe of main: connect ECONNREFUSED .*:8080$/,
  },
  {
    what: 'a readiness probe whose command ends with 1',
    container: {
      command: SLEEP,
      readinessProbe: { exec: { command: ['/bin/sh', '-c', 'exit 1'] }, ...OFTEN },
    },
    seen: untilEvent('exit code 1'),
    cause: ': the readiness probe of container main (command /bin/sh -c exit 1) fails',
    evidence:
      /: not ready since 2.*Z; Readiness probe of main: the command ended with exit code 1$/,
  },
  {
    what: 'a startup probe that has not passed',
    container: {
      command: SLEEP,
      startupProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1, failureThreshold: 600 },
      readinessProbe: { tcpSocket: { port: 8080 }, ...OFTEN },
    },
    seen: untilEvent('Startup probe'),
    cause: ': the startup probe of container main (TCP port 8080) fails',
    evidence: /: not ready since 2.*Z; Startup probe of main: connect ECONNREFUSED/,
  },
  {
    what: 'a liveness probe that fails again and again',
    container: { command: SLEEP, livenessProbe: { tcpSocket: { port: 8080 }, ...OFTEN } },
    seen: untilRestarts(2),
    cause: ': the liveness probe of container main (TCP port 8080) fails',
    evidence:
      /CrashLoopBackOff; container main ended \d+ times.*; Liveness probe of main: connect ECONN/,
  },
  {
    what: 'a container that exits again and again',
    container: { command: ['/bin/sh', '-c', 'exit 3'] },
    seen: untilRestarts(2),
    cause: '',
    evidence:
      /a container waits: CrashLoopBackOff; container main ended \d+ times, at last with 3 \(Error\)$/,
  },
]

function untilEvent(text: string) {
  return (shop: PodShop): Promise<void> =>
    shop.until(
      'events',
      (event) =>
        stringAt(event, 'reason') === 'Unhealthy' && stringAt(event, 'message').includes(text),
    )
}

/** Waits for a restart: the next one is further away than a run of orchctl takes. */
function untilRestarts(count: number) {
  return (shop: PodShop): Promise<void> =>
    shop.until('pods', (pod) => {
      const [status] = arrayAt(pod, 'status', 'containerStatuses')
      const isWaiting = stringAt(status, 'state', 'waiting', 'reason') === 'CrashLoopBackOff'
      return isWaiting && Number(valueAt(status, 'restartCount')) >= count
    })
}
