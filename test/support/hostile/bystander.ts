import { randomUUID } from 'node:crypto'
import { createApiClient } from '../../../src/client/http/api-client.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import type { OrchServerProcess } from '../orchserver/orch-server-process.ts'

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'

/** What a well-behaved client experienced. */
export interface Experience {
  /** The number of objects that it created and read back. */
  readonly rounds: number
  readonly failures: readonly string[]
}

/** Creates objects and reads them back, one after the other, until it is stopped. */
export function startBystander({ connection }: OrchServerProcess): {
  stop(): Promise<Experience>
} {
  const client = createApiClient({ connection, clock: systemClock, userAgent: 'bystander/1' })
  const prefix = `bystander-${randomUUID()}`
  const failures: string[] = []
  let isStopped = false
  let rounds = 0
  const round = async (name: string): Promise<void> => {
    for (const result of [
      await client.create(CONFIG_MAPS, { metadata: { name } }),
      await client.get(`${CONFIG_MAPS}/${name}`),
    ]) {
      if (!result.ok) failures.push(result.failure.message)
    }
  }
  const run = async (): Promise<void> => {
    for (; !isStopped; rounds++) await round(`${prefix}-${rounds}`)
    await client.close()
  }
  const running = run()
  return {
    stop: async () => {
      isStopped = true
      await running
      return { rounds, failures }
    },
  }
}
