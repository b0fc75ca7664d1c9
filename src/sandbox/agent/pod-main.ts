import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { servePod } from './pod-serve.ts'

/**
 * How long a pod goes on answering after SIGTERM: one probe of its
 * readiness, and the way of that news to the last kernel.
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
