import type { HostFacts } from '../../../src/explain/packet/host-facts.ts'
import type { WalkOutcome } from '../../../src/explain/walk/walk-outcome.ts'
import { type WalkWorld, walkPacket } from '../../../src/explain/walk/walk-packet.ts'
import { type LocalReaders, openLocalReaders } from '../../../src/explain/world/local-readers.ts'
import { readWorld } from '../../../src/explain/world/read-world.ts'
import type { ExplainRequest } from './protocol.ts'

/** Walks packets through the kernel of this thread's namespace, and reads the kernel again if it may have changed. */
export class Explainer {
  #readers: LocalReaders | undefined
  #world: WalkWorld | undefined

  async explain(request: ExplainRequest): Promise<readonly WalkOutcome[]> {
    const { start, alsoListening, isUnchanged } = request
    this.#readers ??= openLocalReaders()
    const known = isUnchanged ? this.#world : undefined
    const world = known ?? (await readWorld(this.#readers))
    this.#world = world
    return await walkPacket({ ...world, facts: withListeners(world.facts, alsoListening) }, start)
  }
}

function withListeners(facts: HostFacts, added: readonly string[]): HostFacts {
  return {
    ...facts,
    listens: (protocol, at) =>
      added.includes(`${at.ip}:${at.port}`) ? 'usual' : facts.listens(protocol, at),
  }
}
