import type { PodState } from '../cluster/pod-state.ts'

/** How long a dead pod stays dead: time to see the traffic move. */
export const REVIVAL_MS = 15_000

/** Selects the dead pods that are to be restarted, as a kubelet would. */
export class Revival {
  readonly #deadSince = new Map<string, number>()

  /** Names of the pods that have been dead for long enough at `now`. */
  due(pods: readonly PodState[], now: number): readonly string[] {
    for (const { name, ready } of pods) {
      if (ready) this.#deadSince.delete(name)
      else if (!this.#deadSince.has(name)) this.#deadSince.set(name, now)
    }
    const due = [...this.#deadSince].filter(([, since]) => now - since >= REVIVAL_MS)
    for (const [name] of due) this.#deadSince.delete(name)
    return due.map(([name]) => name)
  }
}
