import type { HostFacts } from '../../../src/explain/packet/host-facts.ts'
import type { WalkOutcome } from '../../../src/explain/walk/walk-outcome.ts'
import { walkPacket } from '../../../src/explain/walk/walk-packet.ts'
import { type LocalReaders, openLocalReaders } from '../../../src/explain/world/local-readers.ts'
import { readWorld } from '../../../src/explain/world/read-world.ts'
import type { ExplainRequest } from './protocol.ts'

/** Walks packets through the kernel of this thread's namespace, which is read anew for each. */
export class Explainer {
  #readers: LocalReaders | undefined

  async explain({ start, alsoListening }: ExplainRequest): Promise<readonly WalkOutcome[]> {
    this.#readers ??= openLocalReaders()
    const world = await readWorld(this.#readers)
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
