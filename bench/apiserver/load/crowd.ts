import { createSecureContext } from 'node:tls'
import { SERVICES } from '../objects.ts'
import type { Target } from './order.ts'
import { tlsOf } from './secure.ts'
import { Watcher, watchFromNow } from './watcher.ts'

/** Connections that are opened at the same time. */
const AT_ONCE = 20

/** Watches of all Services, each on a connection of its own, all from the same revision. */
export class Crowd implements Disposable {
  /** Called with every event's JSON, once by each watcher. */
  onLine: (line: string) => void = () => undefined
  readonly #watchers: Watcher[] = []

  get size(): number {
    return this.#watchers.length
  }

  async open(target: Target, watchers: number): Promise<void> {
    const path = await watchFromNow(target, SERVICES)
    const place = { target, path, secureContext: createSecureContext(tlsOf(target)) }
    const onLine = (line: string): void => this.onLine(line)
    while (this.size < watchers) {
      const length = Math.min(AT_ONCE, watchers - this.size)
      const more = Array.from({ length }, () => Watcher.open(place, onLine))
      this.#watchers.push(...(await Promise.all(more)))
    }
  }

  [Symbol.dispose](): void {
    for (const watcher of this.#watchers.splice(0)) watcher[Symbol.dispose]()
  }
}
