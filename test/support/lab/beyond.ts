import type { Transport } from '../agent/protocol.ts'
import { socketName } from '../agent/protocol.ts'
import { hostNet } from './plan.ts'
import type { Site } from './site.ts'

/** Names with which sinks answer, which prove that the proxy did not change a packet. */
export const SINK = { node: 'sink:node', world: 'sink:world' } as const

/**
 * Listeners on addresses that no interface of the world has: a `local` route makes the kernel accept packets for them
 * and answer from them.
 */
export interface Beyond {
  /** An endpoint on another node, named by its `ip:port`. */
  serve(protocol: Transport, ip: string, port: number): Promise<void>
  /** Answers, as a sink, every packet that the node forwards to this address. */
  absorb(protocol: Transport, ip: string, port: number): Promise<void>
  clear(): Promise<void>
}

export function createBeyond(world: Site): Beyond {
  const routed = new Set<string>()
  const names = new Map<string, string>()

  async function listen(protocol: Transport, ip: string, port: number, name: string) {
    if (!routed.has(ip)) {
      routed.add(ip)
      await world.namespace.ip([`route replace local ${hostNet(ip)} dev lo`])
    }
    const key = `${protocol} ${socketName(ip, port)}`
    const before = names.get(key)
    if (before === name || (before !== undefined && name === SINK.world)) return
    names.set(key, name)
    await world.agent.call('listen', { protocol, ip, port, name })
  }

  return {
    serve: (protocol, ip, port) => listen(protocol, ip, port, socketName(ip, port)),
    absorb: (protocol, ip, port) => listen(protocol, ip, port, SINK.world),
    async clear() {
      await world.agent.call('unlistenAll', null)
      await world.namespace.ip([...routed].map((ip) => `route del local ${hostNet(ip)} dev lo`))
      routed.clear()
      names.clear()
    },
  }
}
