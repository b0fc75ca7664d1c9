import type { ConnectOutcome } from '../agent/protocol.ts'
import type { Lab } from '../lab/lab.ts'
import { BACKENDS, type Stage } from './behaviour.ts'

const PORT = 80
const CLIENTS = 25

/** A stage of clients and listeners of a lab; the caller decides who programs the virtual servers. */
export async function labStage(
  lab: Lab,
  { destinations, balance }: Pick<Stage, 'destinations' | 'balance'>,
): Promise<Stage> {
  for (const name of BACKENDS) {
    const ip = name.replace(/:\d+$/, '')
    await lab.serve({ ip, local: false, ports: [{ protocol: 'TCP', port: PORT }] })
  }
  const clients = await lab.crowd(CLIENTS)
  const { agent } = lab.outside
  const [source = ''] = clients
  const [destination = ''] = destinations
  const held: number[] = []
  return {
    destinations,
    clients,
    balance,
    async connect(from) {
      const request = { protocol: 'TCP', port: PORT, parallel: 1, timeoutMs: 5000 } as const
      return (await agent.call('connect', { ...from, ...request })).map(nameOf)
    },
    async hold(count) {
      const request = { protocol: 'TCP', source, destination, port: PORT, timeoutMs: 5000 } as const
      const { id, alive, refused } = await agent.call('holdOpen', {
        ...request,
        count,
        everyMs: 1000,
      })
      held.push(id)
      refused.forEach(nameOf)
      return alive
    },
    async release() {
      for (const id of held.splice(0)) await agent.call('holdEnd', { id, how: 'reset' })
    },
  }
}

/** The backend that answered. A connection without an answer is an error, because all backends are running. */
function nameOf(outcome: ConnectOutcome): string {
  if (outcome.kind === 'answered') return outcome.name
  throw new Error(`a connection was not answered: ${JSON.stringify(outcome)}`)
}
