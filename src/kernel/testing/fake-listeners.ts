import type { Listener, Listeners } from '../listeners.ts'

/** Listeners that the test names. */
export class FakeListeners implements Listeners {
  listeners: readonly Listener[] = []

  list(): readonly Listener[] {
    return this.listeners
  }
}
