import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { servePod } from './pod-serve.ts'

/**
 * How long a pod continues to answer after SIGTERM, in milliseconds: enough for one readiness probe, and for its result
 * to reach all kernels.
 */
const DRAIN_MS = 2500

/** The program of a pod: an HTTP server that drains on SIGTERM. */
async function main(): Promise<void> {
  const { POD_NAME = '', POD_IP = '', PORT = '8080' } = process.env
  const pod = await servePod({ name: POD_NAME, ip: POD_IP, port: Number(PORT) })
  await once(process, 'SIGTERM')
  pod.drain()
  await delay(DRAIN_MS)
  await pod.close()
}

await main()
