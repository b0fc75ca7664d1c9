import type { OrchServerProcess } from '../orchserver/orch-server-process.ts'

/** The servers of a run, and which of them are running. */
export class World {
  readonly servers: readonly OrchServerProcess[]
  readonly #down = new Set<OrchServerProcess>()
  #up = Promise.withResolvers<void>()

  constructor(servers: readonly OrchServerProcess[]) {
    this.servers = servers
    this.#up.resolve()
  }

  /** Called before a server is killed. */
  goesDown(server: OrchServerProcess): void {
    this.#down.add(server)
    if (this.#down.size === this.servers.length) this.#up = Promise.withResolvers()
  }

  comesUp(server: OrchServerProcess): void {
    this.#down.delete(server)
    this.#up.resolve()
  }

  /** Resolves when at least one server is running, and not before the next turn of the event loop. */
  async someServer(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    await this.#up.promise
  }
}
